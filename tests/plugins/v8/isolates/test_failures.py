"""Exceptions of jsrun, and what they mean for an isolate."""

from __future__ import annotations

import pytest

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

import jsrun

from interpstack import EngineFailure
from interpstack_v8.isolates.failures import (
    IsolateGone,
    OutOfHeap,
    OutOfTime,
    RejectionsOverflowed,
    failure_of,
)


@pytest.mark.parametrize(
    ("error", "late", "kind"),
    [
        (jsrun.RuntimeTerminated("Heap limit exceeded"), True, OutOfHeap),
        (RuntimeError("Evaluation timed out after 5 ms"), False, OutOfTime),
        (RuntimeError("Failed to get property 'answer'"), False, OutOfTime),
        (RuntimeError("something else"), True, OutOfTime),
        (RuntimeError("something else"), False, EngineFailure),
        (jsrun.JavaScriptError("Error: execution terminated"), False, IsolateGone),
        (jsrun.JavaScriptError("Maximum call stack size exceeded"), False, RejectionsOverflowed),
        (jsrun.JavaScriptError("Error: x"), False, EngineFailure),
        (MemoryError(), False, EngineFailure),
    ],
)
def test_each_has_its_meaning(error: Exception, late: bool, kind: type[Exception]) -> None:
    assert type(failure_of(error, late)) is kind
