"""Exceptions of jsrun, and what they mean for an isolate."""

from __future__ import annotations

import pytest

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

import jsrun

from interpstack import EngineFailure
from interpstack_v8.isolates.failures import (
    CellTimeout,
    IsolateGone,
    OutOfHeap,
    RejectionsOverflowed,
    failure_of,
)


@pytest.mark.parametrize(
    ("error", "late", "kind"),
    [
        (jsrun.RuntimeTerminated("Heap limit exceeded"), True, OutOfHeap),
        (RuntimeError("Evaluation timed out after 5 ms"), False, CellTimeout),
        (RuntimeError("Failed to get property 'answer'"), False, CellTimeout),
        (RuntimeError("something else"), True, CellTimeout),
        (RuntimeError("something else"), False, EngineFailure),
        (jsrun.JavaScriptError("Error: execution terminated"), False, IsolateGone),
        (jsrun.JavaScriptError("Maximum call stack size exceeded"), False, RejectionsOverflowed),
        (jsrun.JavaScriptError("Error: x"), False, EngineFailure),
        (MemoryError(), False, EngineFailure),
    ],
)
def test_each_has_its_meaning(error: Exception, late: bool, kind: type[Exception]) -> None:
    assert type(failure_of(error, late)) is kind
