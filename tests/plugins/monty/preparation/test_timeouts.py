"""The time that a cell's preparation may take; the clock is the test's."""

from __future__ import annotations

import pytest

from interpstack_monty.preparation import timeouts
from interpstack_monty.preparation.timeouts import ScanDeadline, ScanTimeout


class Clock:
    now = 5.0

    def thread_time(self) -> float:
        return self.now


def test_time_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(timeouts, "time", clock)
    timeout = ScanDeadline(2.0, lambda: False)
    clock.now += 1.5
    timeout.check()
    assert (timeout.spent, timeout.left()) == (1.5, 0.5)
    clock.now += 0.5
    with pytest.raises(ScanTimeout):
        timeout.check()


def test_without_a_limit_only_a_stop_ends_it() -> None:
    stopped: list[int] = []
    timeout = ScanDeadline(None, lambda: bool(stopped))
    timeout.check()
    assert timeout.left() is None
    stopped.append(1)
    with pytest.raises(ScanTimeout):
        timeout.check()
