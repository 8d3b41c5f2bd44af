"""V8, held to the kit."""

from __future__ import annotations

from typing import ClassVar

import pytest
from suites import seed

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

from interpstack_v8.conformance import V8Conformance


class TestV8(V8Conformance):
    """The report tries all attacks."""

    attacks_one_in: ClassVar[int] = 16
    attacks_from: ClassVar[int] = seed()
