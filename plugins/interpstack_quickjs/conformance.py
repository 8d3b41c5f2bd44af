"""QuickJS in the conformance kit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from interpstack import Engine
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.heap.images import SEAL_BYTES, sealed
from interpstack_testing import JAVASCRIPT, EngineConformance

__all__ = ["QuickJSConformance"]


class QuickJSConformance(EngineConformance):
    """Conformance tests of QuickJS, with its gaps."""

    guest = JAVASCRIPT
    gaps: ClassVar[Mapping[str, str]] = {
        "test_a_rejection_that_no_code_handles_is_reported": "QuickJS reports only failed calls"
    }

    def make_engine(self) -> Engine:
        return QuickJSEngine()

    def forged(self, data: bytes, change: Callable[[bytes], bytes]) -> bytes:
        return sealed(change(data[SEAL_BYTES:]))
