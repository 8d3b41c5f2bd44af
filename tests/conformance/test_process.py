"""QuickJS in worker processes, held to the kit."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import ClassVar

import pytest
from suites import seed

from interpstack_process.conformance import ProcessQuickJSConformance
from interpstack_quickjs.heap.images import SEAL_BYTES, sealed

pytestmark = pytest.mark.skipif(os.name != "posix", reason="worker processes need POSIX")


class TestProcess(ProcessQuickJSConformance):
    """The report tries all attacks; so do the tests of QuickJS itself."""

    attacks_one_in: ClassVar[int] = 8
    attacks_from: ClassVar[int] = seed()

    def forged(self, data: bytes, change: Callable[[bytes], bytes]) -> bytes:
        return sealed(change(data[SEAL_BYTES:]))
