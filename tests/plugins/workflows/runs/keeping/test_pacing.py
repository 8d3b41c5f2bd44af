"""How early runs begin that are due together, and how long their starts took."""

from __future__ import annotations

import pytest

from interpstack_workflows.runs.keeping.pacing import EarlyStart, Pace, Standby


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_run_that_is_due_alone_is_early_by_the_least() -> None:
    pace = Pace(0.5, 10)
    assert pace.lead([100.0]) == pytest.approx(0.5 + 2 * pace.start_seconds)
    assert pace.lead([]) == 0.5


def test_a_runner_that_starts_nothing_early_never_does() -> None:
    assert Pace(0, 10).lead([100.0] * 10) == 0


def test_runs_that_are_due_together_begin_the_earlier_the_more_they_are() -> None:
    pace = Pace(0.5, 1000)
    each = 2 * pace.start_seconds
    assert pace.lead([100.0] * 300) == pytest.approx(0.5 + 300 * each)
    apart = [100.0 + number for number in range(300)]
    assert pace.lead(apart) == pytest.approx(0.5 + each)


def test_no_more_runs_count_than_may_be_live_early_and_no_lead_is_longer_than_a_minute() -> None:
    pace = Pace(0.5, 100)
    assert pace.lead([100.0] * 300) == pytest.approx(0.5 + 100 * 2 * pace.start_seconds)
    assert Pace(0.5, 100_000).lead([100.0] * 100_000) == 60


@pytest.mark.parametrize("seconds", [0.001, 0.04])
def test_starts_one_after_another_take_what_each_takes(seconds: float) -> None:
    clock = _Clock()
    pace = Pace(0.5, 100, clock)
    for _ in range(100):
        start = EarlyStart(0.0, pace)
        clock.now += seconds
        start.ready()
        start.over()  # when the run ends; measured already
    assert pace.start_seconds == pytest.approx(seconds, rel=0.01)


def test_starts_at_once_share_the_time_that_they_take() -> None:
    clock = _Clock()
    pace = Pace(0.5, 100, clock)
    for _ in range(10):
        starts = [EarlyStart(0.0, pace) for _ in range(20)]
        for start in starts:
            clock.now += 0.004
            start.ready()
    assert 0.001 < pace.start_seconds <= 0.004


def test_a_start_that_comes_to_nothing_tells_nothing() -> None:
    clock = _Clock()
    pace = Pace(0.5, 100, clock)
    start = EarlyStart(0.0, pace)
    expected = pace.start_seconds
    clock.now += 5
    start.over()
    assert pace.start_seconds == expected


def test_a_run_stays_live_until_the_time_for_which_it_was_made_live() -> None:
    clock = _Clock()
    pace = Pace(0.5, 100, clock)
    standby = Standby(lambda when: when < 10, EarlyStart(100.0, pace))
    clock.now = 0.5
    standby.ready()
    assert pace.start_seconds > 0.01
    assert [standby.lasts_until(when) for when in (5.0, 50.0, 100.0, 101.0)] == [1, 1, 1, 0]
    assert [Standby(lambda when: when < 10).lasts_until(when) for when in (5.0, 50.0)] == [1, 0]
