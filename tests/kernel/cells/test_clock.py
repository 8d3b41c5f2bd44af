"""Tests of interpstack.cells.clock."""

from __future__ import annotations

from interpstack import CellGuard, GuestError, Limits, Seconds
from interpstack.cells.clock import CellClock
from interpstack.cells.guards import Guards


def _after(limits: Limits, seconds: float) -> CellClock:
    """A clock that was made so many seconds ago."""
    clock = CellClock(limits)
    clock._started -= seconds
    return clock


def test_the_tighter_limit_counts() -> None:
    limits = Limits(cpu_seconds=5, wall_seconds=60)
    clock = _after(limits, 0)
    assert clock.left() == 5
    clock.computed(6)
    assert clock.out_of_time() == ("Timeout", "the code computed for more than 5 s")
    clock = _after(limits, 59)
    clock.computed(2)
    assert 58 < clock.wall_seconds < 60
    assert 0 < (clock.left(clock.wall_left()) or 0) <= 1
    assert clock.out_of_time() == ("Timeout", "the cell took longer than 60 s in total")


def test_time_left_to_compute_is_never_negative() -> None:
    clock = _after(Limits(cpu_seconds=None, wall_seconds=1), 3)
    assert clock.left(clock.wall_left()) == 0.0
    assert (clock.wall_left() or 0) <= -2


def test_an_engine_cannot_give_time_back() -> None:
    clock = _after(Limits(cpu_seconds=5, wall_seconds=None), 0)
    clock.computed(2)
    for seconds in (-1e4, float("nan")):
        clock.computed(seconds)
        assert (clock.cpu_seconds, clock.left()) == (2, 3)


def test_without_limits_there_is_no_end() -> None:
    clock = CellClock(Limits(cpu_seconds=None, wall_seconds=None))
    clock.computed(1e9)
    assert (clock.left(), clock.wall_left()) == (None, None)


class _Guard(CellGuard):
    def __init__(self) -> None:
        self.left = 3.0

    def allowance(self, kind: Seconds) -> float | None:
        return self.left if kind == "cpu_seconds" else None

    def exceeded(self, cpu: float | None, wall: float | None) -> GuestError | None:
        return GuestError("Spent", f"{cpu} {wall}")

    def computed(self, seconds: float) -> None:
        self.left -= seconds


def test_a_guard_may_leave_less() -> None:
    guards = Guards((CellGuard(), _Guard()))
    clock = CellClock(Limits(cpu_seconds=5, wall_seconds=None), guards)
    assert clock.left() == 3
    clock.computed(2)
    assert clock.left() == 1
    assert clock.out_of_time() == ("Spent", "3.0 None"), "it is asked with the cell's own limits"
