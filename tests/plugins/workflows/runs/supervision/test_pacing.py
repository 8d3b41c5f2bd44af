"""How early runs begin that are due together, and how long their starts took."""

from __future__ import annotations

import asyncio

import pytest

from interpstack_workflows.runs.supervision.pacing import EarlyStart, Pace, Rush, Standby


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


def test_a_start_that_comes_to_nothing_is_not_measured() -> None:
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
    standby = Standby(lambda when: when < 10, Rush(), EarlyStart(100.0, pace))
    clock.now = 0.5
    standby.ready()
    assert pace.start_seconds > 0.01
    assert [standby.lasts_until(when) for when in (5.0, 50.0, 100.0, 101.0)] == [1, 1, 1, 0]
    alone = Standby(lambda when: when < 10, Rush())
    assert [alone.lasts_until(when) for when in (5.0, 50.0)] == [1, 0]


def _standbys(count: int) -> list[Standby]:
    rush = Rush()
    return [Standby(lambda when: False, rush) for _ in range(count)]


async def test_an_end_waits_for_all_runs_whose_time_has_come() -> None:
    ends, first, second = _standbys(3)
    for due in (first, second, second):  # a run counts once, however many of its waits are over
        due.due()
    ending = asyncio.create_task(ends.others_first())
    first.continued()
    first.continued()
    await asyncio.sleep(0.01)
    assert not ending.done()
    second.continued()
    await ending
    await ends.others_first()  # nothing is left to wait for


async def test_an_end_waits_for_no_run_that_ends_itself() -> None:
    one, other = _standbys(2)
    one.due()
    other.due()
    await asyncio.gather(one.others_first(), other.others_first())


async def test_an_end_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpstack_workflows.runs.supervision.pacing._MOST_PATIENCE", 0.01)
    one, other = _standbys(2)
    other.due()
    await one.others_first()
    cancelled = asyncio.create_task(one.others_first())
    await asyncio.sleep(0)
    cancelled.cancel()
    other.continued()  # nobody waits any more, which is no fault
    with pytest.raises(asyncio.CancelledError):
        await cancelled
