"""The heap of a realm sleeps, wakes and is replaced, and keeps the values."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

from interpstack import BridgeSet, EngineFailure, Limits
from interpstack_javascript.modules import ModuleTable
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


def test_a_running_cell_keeps_its_isolate(heap: RealmHeap) -> None:
    first = heap.isolate
    heap.begin()
    heap.rest()
    assert heap.isolate is first


def test_a_parked_cell_makes_room_for_others(heap: RealmHeap) -> None:
    first = heap.isolate
    heap.begin()
    heap.lend(parked=True)
    assert heap.holds(first)
    heap.rest()
    assert not heap.holds(first)


def test_a_cell_that_was_parked_keeps_its_isolate(heap: RealmHeap) -> None:
    first = heap.isolate
    heap.begin()
    heap.lend(parked=True)
    heap.lend(parked=False)
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
