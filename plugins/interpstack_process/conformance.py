"""Engines in worker processes in the conformance kit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from interpstack import Engine, InterpreterStack
from interpstack_testing import JAVASCRIPT, EngineConformance

__all__ = ["ProcessQuickJSConformance", "ProcessV8Conformance"]


class ProcessQuickJSConformance(EngineConformance):
    """Conformance tests of `process:quickjs`, which has no gaps."""

    guest = JAVASCRIPT
    varying: ClassVar[Mapping[str, str]] = {
        "test_guests_keep_their_memory_elsewhere": (
            "the image of each session is kept in the host, too, to outlive its worker"
        ),
    }

    def make_engine(self) -> Engine:
        # QuickJS always stops, on a busy machine late; so its worker is not held for dead.
        return InterpreterStack("process:quickjs", options={"grace_seconds": 60.0}).engine


class ProcessV8Conformance(EngineConformance):
    """Conformance tests of `process:v8`, with its gaps."""

    guest = JAVASCRIPT
    varying: ClassVar[Mapping[str, str]] = {
        "test_hostile_guest[memory/one big fill]": (
            "V8 may need longer for the array than its worker may live, so the worker is killed"
        ),
    }

    def make_engine(self) -> Engine:
        return InterpreterStack("process:v8").engine
