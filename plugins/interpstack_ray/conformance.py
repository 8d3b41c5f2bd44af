"""Engines in actors in the conformance kit."""

from __future__ import annotations

from interpstack import Engine, InterpreterStack
from interpstack_testing import JAVASCRIPT, EngineConformance

__all__ = ["RayQuickJSConformance"]


class RayQuickJSConformance(EngineConformance):
    """Conformance tests of `ray:quickjs`, which has no gaps."""

    guest = JAVASCRIPT

    def make_engine(self) -> Engine:
        # QuickJS always stops, on a busy machine late; so its actor is not held for dead.
        return InterpreterStack("ray:quickjs", options={"grace_seconds": 60.0}).engine
