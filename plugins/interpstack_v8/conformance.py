"""V8 in the conformance kit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from interpstack import Engine
from interpstack_testing import JAVASCRIPT, EngineConformance
from interpstack_v8.engine import V8Engine

__all__ = ["V8Conformance"]


class V8Conformance(EngineConformance):
    """Conformance tests of V8, with its gaps."""

    guest = JAVASCRIPT
    fatal: ClassVar[Mapping[str, str]] = {
        "test_hostile_guest[builtins/sort]": "V8 aborts the process when it cannot make an array",
        **{
            f"test_hostile_guest[builtins/{name}]": (
                "V8 does not check for termination inside array built-ins, so the heap is "
                "abandoned, and its thread computes until the built-in ends"
            )
            for name in ("indexOf", "fill")
        },
    }

    def make_engine(self) -> Engine:
        return V8Engine()
