"""QuickJS in the conformance kit."""

from __future__ import annotations

from collections.abc import Callable

from interpstack import Engine
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.heap.images import SEAL_BYTES, sealed
from interpstack_testing import JAVASCRIPT, EngineConformance

__all__ = ["QuickJSConformance"]


class QuickJSConformance(EngineConformance):
    """Conformance tests of QuickJS, which has no gaps."""

    guest = JAVASCRIPT

    def make_engine(self) -> Engine:
        return QuickJSEngine()

    def forged(self, data: bytes, change: Callable[[bytes], bytes]) -> bytes:
        return sealed(change(data[SEAL_BYTES:]))
