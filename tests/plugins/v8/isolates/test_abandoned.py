"""Isolates that compute for nobody are counted."""

from __future__ import annotations

import pytest

from interpstack import InterpreterStack, Limits

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

from interpstack_v8.awake_realms import awake_realms
from interpstack_v8.isolates.abandoned import abandon, abandoned, has_stopped


def test_each_counts_once_until_it_stops() -> None:
    before, one = abandoned(), object()
    abandon(one)
    abandon(one)
    assert abandoned() == before + 1
    has_stopped(one)
    has_stopped(one)
    assert abandoned() == before


def test_no_more_isolates_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions with a heap go on; the others keep their variables, and continue later."""
    with InterpreterStack("v8", []) as stack, stack.session() as awake, stack.session() as asleep:
        assert awake.eval_sync("var kept = 6").ok
        assert asleep.eval_sync("var kept = 41").ok
        next(reversed(awake_realms._awake.values())).rest()
        with monkeypatch.context() as patched:
            patched.setattr("interpstack_v8.isolates.abandoned.MAX_COMPUTING", 0)
            assert awake.eval_sync("kept + 1").text == "7"
            refused = asleep.eval_sync("kept = 0")
            assert refused.error is not None
            assert (refused.error.name, refused.state) == ("EngineFailure", "kept")
            assert "no code of the cell ran" in refused.error.message
            assert "process:v8" in refused.error.message
        assert asleep.eval_sync("kept + 1").text == "42"


def test_a_heap_that_is_lost_at_the_bound_is_replaced_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = Limits(cpu_seconds=5, wall_seconds=60)
    with InterpreterStack("v8", [], limits=limits) as stack, stack.session() as session:
        assert session.eval_sync("var kept = 41").ok
        with monkeypatch.context() as patched:
            patched.setattr("interpstack_v8.isolates.abandoned.MAX_COMPUTING", 0)
            lost = session.eval_sync("const all = []; for (;;) all.push(new Array(1e5).fill(0.5))")
            assert lost.error is not None
            assert session.eval_sync("kept + 1").error is not None
        assert session.eval_sync("kept + 1").text == "42"
