"""How long the host waits for a worker; the clock is the test's."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_process.frames import Closed
from interpstack_process.processes import timeouts
from interpstack_process.processes.timeouts import CommandDeadline, CommandTimeout


class Worker:
    ended = False

    def __init__(self) -> None:
        self.told: list[str] = []

    def interrupt(self, number: int) -> None:
        self.told.append(f"interrupt {number}")


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(timeouts, "time", made)
    return made


def test_a_worker_has_its_time_and_some_grace(clock: Clock) -> None:
    worker: Any = Worker()
    check = CommandDeadline(worker, 7, 2.0, 1.0, lambda: False)
    clock.now += 3.0
    check()
    clock.now += 0.1
    with pytest.raises(CommandTimeout, match="did not answer within 3 s"):
        check()
    assert worker.told == []  # whoever waits ends it


def test_the_time_of_a_command_that_was_sent_ahead_begins_with_its_start(clock: Clock) -> None:
    check = CommandDeadline(Worker(), 7, 2.0, 1.0, lambda: False)
    clock.now += 100.0
    check.start()
    clock.now += 3.0
    check()
    clock.now += 0.1
    with pytest.raises(CommandTimeout):
        check()


def test_a_worker_that_is_interrupted_has_to_stop_soon(clock: Clock) -> None:
    worker: Any = Worker()
    check = CommandDeadline(worker, 7, None, 1.0, lambda: True)
    check()
    assert worker.told == ["interrupt 7"]
    clock.now += 0.6
    with pytest.raises(CommandTimeout, match=r"did not stop within 0\.5 s"):
        check()


def test_a_worker_that_has_ended_is_not_waited_for(clock: Clock) -> None:
    worker: Any = Worker()
    worker.ended = True
    with pytest.raises(Closed, match="the worker process has ended") as ended:
        CommandDeadline(worker, 7, None, 1.0, lambda: False)()
    assert not isinstance(ended.value, CommandTimeout)
