"""The heap of a realm sleeps, wakes and is replaced, and keeps the values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

from interpstack import BridgeSet, Cell, EngineFailure, Limits, Progress
from interpstack_javascript.exported import UNDONE, ExportStopped
from interpstack_javascript.modules import ModuleTable
from interpstack_v8.engine import V8Engine
from interpstack_v8.heap import RealmHeap


@pytest.fixture
def heap() -> Iterator[RealmHeap]:
    heap = RealmHeap(Limits(), BridgeSet(), ModuleTable(), 2.0)
    yield heap
    heap.close()


def test_values_outlive_an_isolate(heap: RealmHeap) -> None:
    heap.load({"n": 5})
    first = heap.isolate
    heap.rest()
    assert heap.isolate is not first
    assert heap.fresh_values() == {"n": 5}


def test_a_heap_that_wakes_names_what_has_no_value_once() -> None:
    realm = V8Engine().open(Limits(), BridgeSet())
    try:
        _run(realm, "function f() {} var n = 5; 1")
        realm.heap.rest()
        said = "Variables were restored from their values; without a value, and so lost: f."
        assert _run(realm, "n").notices == (said,)
        realm.heap.rest()
        assert _run(realm, "n").notices == ()
    finally:
        realm.close()


def test_a_heap_whose_values_cannot_be_read_says_that_they_are_undone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(ask: Any) -> str:
        raise ExportStopped("stopped")

    realm = V8Engine().open(Limits(), BridgeSet())
    try:
        _run(realm, "var n = 5; 1")
        _run(realm, "n = 6; var trap = Object.defineProperty([], 0, {get() { for (;;); }}); 1")
        monkeypatch.setattr("interpstack_v8.heap.exported_apart", stopped)
        realm.heap.rest()
        progress = _run(realm, "n")
        assert progress.completion is not None
        assert progress.completion.text == "5"
        assert progress.notices == (UNDONE,)
    finally:
        realm.close()


def _run(realm: Any, source: str) -> Progress:
    progress: Progress = realm.start(Cell(source=source)).poll(0.0, 5.0)
    return progress


def test_a_running_cell_keeps_its_isolate(heap: RealmHeap) -> None:
    first = heap.isolate
    heap.begin()
    heap.rest()
    assert heap.isolate is first


def test_a_kept_cell_makes_room_for_others(heap: RealmHeap) -> None:
    first = heap.isolate
    heap.begin()
    heap.lend(kept=True)
    assert heap.holds(first)
    heap.rest()
    assert not heap.holds(first)


def test_a_cell_that_was_kept_keeps_its_isolate(heap: RealmHeap) -> None:
    first = heap.isolate
    heap.begin()
    heap.lend(kept=True)
    heap.lend(kept=False)
    heap.rest()
    assert heap.holds(first)


def test_a_cell_that_is_undone_leaves_the_values_from_before_it(heap: RealmHeap) -> None:
    heap.load({"n": 5})
    heap.begin()
    heap.say("load", {"n": 6})
    heap.reopen()
    assert heap.fresh_values() == {"n": 5}


def test_a_forsaken_isolate_is_reported_once(heap: RealmHeap) -> None:
    heap.forsake("it did not stop")
    assert heap.take_notices() == ("it did not stop",)
    assert heap.take_notices() == ()


def test_a_closed_heap_stays_closed(heap: RealmHeap) -> None:
    heap.close()
    with pytest.raises(EngineFailure, match="was closed"):
        _ = heap.isolate
