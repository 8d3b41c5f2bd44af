"""Tests of interpstack_process.processes.pool: how many workers there are, and whose they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interpstack import EngineFailure
from interpstack_process.processes import pool as module
from interpstack_process.processes.pool import WorkerPool


class Worker:
    """A worker that ends when a test says so."""

    def __init__(self, config: Any, on_end: Callable[[Any], None]) -> None:
        self.realms: set[int] = set()
        self.busy = self.ended = self.owned = False
        self.ready = True
        self.told: list[str] = []
        self._on_end = on_end

    def end(self, reason: str) -> None:
        self.ended = True
        self.told.append(reason)
        self._on_end(self)

    def join(self) -> None:
        self.told.append("joined")

    def disown(self) -> None:
        self.told.append("disowned")


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Any]]:
    monkeypatch.setattr(module, "WorkerProcess", Worker)
    made: list[WorkerPool] = []

    def pool(size: int) -> WorkerPool:
        config: Any = None
        made.append(WorkerPool(config, size))
        return made[-1]

    yield pool
    for each in made:
        each.close()


def test_workers_start_one_by_one_until_there_are_enough(make: Any) -> None:
    pool = make(2)
    assert pool.workers == ()
    first, second = pool.place(1), pool.place(2)
    assert first is not second
    assert pool.place(3) in (first, second)
    assert (len(pool.workers), first.realms | second.realms) == (2, {1, 2, 3})


def test_a_worker_without_realms_is_used_before_another_starts(make: Any) -> None:
    pool = make(9)
    first = pool.place(1)
    first.realms.clear()
    assert pool.place(2) is first
    assert pool.place(3) is not first


def test_a_new_realm_goes_where_the_fewest_are_and_nobody_computes(make: Any) -> None:
    pool = make(2)
    first, second = pool.place(1), pool.place(2)
    first.busy = True
    assert pool.place(3) is second
    assert pool.place(4) is first  # fewer realms count more


def test_an_idle_worker_is_ready_and_another_one(make: Any) -> None:
    pool = make(3)
    busy, other = pool.place(1), pool.place(2)
    other.ready = False
    assert pool.place_instead(9, busy) is None
    other.ready, other.busy = True, True
    assert pool.place_instead(9, busy) is None
    other.busy = False
    assert pool.place_instead(9, busy) is other
    assert 9 in other.realms


def test_a_cell_looks_for_another_worker_only_if_one_is_idle_beside_its_own(make: Any) -> None:
    pool = make(2)
    first, second = pool.place(1), pool.place(2)
    assert pool.stays(first)
    assert not pool.should_move(first)
    first.busy = True
    assert pool.should_move(first)
    assert not pool.stays(first)
    second.ready = False
    assert pool.stays(first)
    assert not pool.stays(second)  # it cannot be asked yet


@pytest.mark.parametrize(("ready", "after"), [(True, 1), (False, 0)])
def test_a_worker_that_did_well_is_replaced_at_once(make: Any, ready: bool, after: int) -> None:
    pool = make(2)
    worker = pool.place(1)
    worker.ready = ready
    worker.end("was killed")
    assert len(pool.workers) == after
    assert worker not in pool.workers
    worker.end("again")
    assert len(pool.workers) == after


def test_a_worker_that_has_just_ended_gets_no_realm(make: Any) -> None:
    pool = make(1)
    worker = pool.place(1)
    worker.ended = True
    assert pool.place(2) is not worker


def test_a_closed_pool_ends_its_workers_and_starts_no_more(make: Any) -> None:
    pool = make(2)
    worker = pool.place(1)
    pool.close()
    assert worker.told == ["was ended with its engine", "joined"]
    assert (pool.workers, pool.threads) == ((), None)
    for use in (lambda: pool.place(2), pool.check_open):
        with pytest.raises(EngineFailure, match="the engine was closed; make a new stack"):
            use()
    pool.close()


@pytest.mark.parametrize("closed", [True, False])
def test_a_fork_leaves_workers_and_threads_to_the_parent(make: Any, closed: bool) -> None:
    pool = make(1)
    worker, threads = pool.place(1), pool.threads
    if closed:
        pool.close()
        worker.told.clear()
    pool.forget()
    assert worker.told == ([] if closed else ["disowned"])
    assert pool.workers == ()
    assert (pool.threads is None) is closed
    assert pool.threads is not threads
    threads.shutdown()
