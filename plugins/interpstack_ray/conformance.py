"""Engines in actors in the conformance kit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from interpstack import InterpreterStack
from interpstack_core import Engine
from interpstack_testing import JAVASCRIPT, EngineConformance

__all__ = ["QuickJSConformance"]


class QuickJSConformance(EngineConformance):
    """Conformance tests of `ray:quickjs`, with its gaps."""

    guest = JAVASCRIPT
    varying: ClassVar[Mapping[str, str]] = {
        "test_guests_keep_their_memory_elsewhere": (
            "the image of each session is kept in the host, too, to outlive its actor"
        ),
    }

    def make_engine(self) -> Engine:
        # QuickJS always stops, on a busy machine late; so its actor is not held for dead.
        return InterpreterStack("ray:quickjs", options={"grace_seconds": 60.0}).engine
