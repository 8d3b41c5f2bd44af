"""Tests of interpstack_monty.running.workplaces: cells with a worker, and hibernated ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import fake_monty
import pytest
from fake_monty import FakeWorker, FakeWorkers

from interpstack import EngineFailure, Limits
from interpstack_monty.running import workplaces as module
from interpstack_monty.running.workplaces import Workplace


class _Turns:
    """Turns that stand at a suspension."""

    def __init__(self) -> None:
        self.at: Any = None
        self.opened: list[bytes] = []
        self.error: Exception | None = None

    def open(self, session: Any, snapshot: bytes) -> None:
        if self.error is not None:
            raise self.error
        self.opened.append(snapshot)
        self.at = _at(snapshot)

    def leave(self) -> None:
        self.at = None


class _Complete:
    """The end of a cell."""


def _at(snapshot: bytes) -> Any:
    return SimpleNamespace(dump=lambda: snapshot)


@pytest.fixture
def worker() -> FakeWorker:
    made = FakeWorker()
    made.bound = "binding"
    return made


@pytest.fixture
def workers(worker: FakeWorker) -> FakeWorkers:
    return FakeWorkers(worker)


@pytest.fixture
def place(workers: FakeWorkers, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(module, "pydantic_monty", fake_monty.CLIENT)
    monkeypatch.setattr(module, "MontyComplete", _Complete)
    limits = Limits(memory_bytes=2**22)
    opening = lambda: workers.take(limits)  # noqa: E731
    state: Any = SimpleNamespace(workers=workers, limits=limits, open_worker=opening)
    turns: Any = _Turns()
    return Workplace(state, turns)


def test_before_its_begin_a_cell_has_nothing_to_dump(place: Any) -> None:
    assert place.dump() == ("", b"")
    place.open()
    assert place.dump() == ("", b"")
    place.turns.at = _Complete()
    assert place.dump() == ("", b"")


def test_a_cell_hibernates_only_where_many_wait(
    place: Any, worker: FakeWorker, workers: Any
) -> None:
    place.open()
    place.turns.at = _at(b"snapshot")
    place.hibernate_if_crowded()
    assert (place.worker, worker.released) == (worker, 0)
    workers.crowded = True
    place.hibernate_if_crowded()
    assert (place.worker, worker.released, place.turns.at) == (None, 1, None)
    assert place.dump() == ("binding", b"snapshot")


def test_a_hibernated_cell_goes_on_with_what_was_bound(place: Any, worker: FakeWorker) -> None:
    place.wake()
    assert place.worker is None  # nothing is hibernated
    place.take_up(b"snapshot", "its binding")
    place.wake()
    assert (place.worker, worker.bound, place.turns.opened) == (
        worker,
        "its binding",
        [b"snapshot"],
    )
    place.wake()
    assert place.turns.opened == [b"snapshot"]
    assert place.dump() == ("its binding", b"snapshot")


@pytest.mark.parametrize(
    ("inner", "found"),
    [
        (ValueError("damaged"), "the suspended cell cannot be opened: ValueError: damaged"),
        (MemoryError("memory limit exceeded: 9 bytes > 5 bytes"), "memory_bytes=4194304 allows"),
    ],
)
def test_a_cell_that_cannot_be_opened_gives_its_worker_back(
    place: Any, worker: FakeWorker, monkeypatch: pytest.MonkeyPatch, inner: Exception, found: str
) -> None:
    from interpstack_monty.crossing import errors

    monkeypatch.setattr(errors, "pydantic_monty", fake_monty.CLIENT)
    place.take_up(b"snapshot", "")
    place.turns.error = fake_monty.MontyError(inner)
    with pytest.raises(EngineFailure, match=found):
        place.wake()
    assert (place.worker, worker.released) == (None, 1)


def test_a_cell_that_cannot_be_dumped_says_so(place: Any) -> None:
    def fail() -> bytes:
        raise fake_monty.MontyError(OSError("gone"))

    place.open()
    place.turns.at = SimpleNamespace(dump=fail)
    with pytest.raises(EngineFailure, match="the cell cannot be suspended: OSError: gone"):
        place.dump()


def test_workers_are_given_back_once(place: Any, worker: FakeWorker) -> None:
    place.kill()
    place.give_up()
    place.release()  # there is none
    place.open()
    place.kill()
    assert (worker.killed, worker.released) == (True, 0)
    place.give_up()
    place.release()
    place.release()
    assert place.worker is None
