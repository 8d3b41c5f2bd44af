"""Tests of interpstack_monty.running.system."""

from __future__ import annotations

import datetime as dt

import pytest

from interpstack.guests import GuestClock
from interpstack_monty.running.system import answer_system_call

#: Half past eleven at night on New Year's Eve, in UTC.
NOW = dt.datetime(2024, 12, 31, 23, 30, tzinfo=dt.UTC).timestamp()
EAST = dt.timezone(dt.timedelta(hours=2))


@pytest.fixture
def clock() -> GuestClock:
    made = GuestClock()
    made.tell(NOW)
    return made


def test_the_time_is_the_cells(clock: GuestClock) -> None:
    assert answer_system_call("time.time", [], clock) == {"return_value": NOW}
    later = answer_system_call("time.time", [], clock)["return_value"]
    assert later > NOW, "no two readings are the same"


@pytest.mark.parametrize(
    ("args", "moment"),
    [
        ([], dt.datetime(2024, 12, 31, 23, 30)),
        ([None], dt.datetime(2024, 12, 31, 23, 30)),
        ([dt.UTC], dt.datetime(2024, 12, 31, 23, 30, tzinfo=dt.UTC)),
        ([EAST], dt.datetime(2025, 1, 1, 1, 30, tzinfo=EAST)),
    ],
)
def test_moments_are_utc_unless_the_guest_names_a_zone(
    clock: GuestClock, args: list[dt.tzinfo | None], moment: dt.datetime
) -> None:
    answer = answer_system_call("datetime.now", args, clock)["return_value"]
    assert (answer, answer.tzinfo) == (moment, moment.tzinfo)


def test_today_is_a_day_of_utc(clock: GuestClock) -> None:
    assert answer_system_call("date.today", [], clock) == {"return_value": dt.date(2024, 12, 31)}


@pytest.mark.parametrize("name", ["os.getenv", "Path.read_text", "time.sleep", ""])
def test_everything_else_is_refused_and_costs_no_time(clock: GuestClock, name: str) -> None:
    assert answer_system_call(name, ["HOME"], clock) is None
    assert clock.read() == NOW
