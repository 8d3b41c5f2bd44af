"""V8 in the conformance kit."""

from __future__ import annotations

from interpstack import Engine
from interpstack_testing import JAVASCRIPT, EngineConformance
from interpstack_v8.engine import V8Engine

__all__ = ["V8Conformance"]


class V8Conformance(EngineConformance):
    """Conformance tests of V8."""

    guest = JAVASCRIPT

    def make_engine(self) -> Engine:
        return V8Engine()
