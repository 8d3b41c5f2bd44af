"""Time slices: how long they last, and what a reader has seen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpstack import ConfigurationError, Request
from interpstack_durable.api import SeenOutput, TimeSlice
from interpstack_durable.background.time_slices import CellAge, describe_request


@pytest.mark.parametrize("seconds", [-1, float("nan"), "3", None, True])
def test_a_time_slice_takes_seconds(seconds: Any) -> None:
    with pytest.raises(ConfigurationError, match="seconds must be a number of seconds"):
        TimeSlice(seconds)


def test_a_time_slice_is_over_once_it_is_cut() -> None:
    time_slice = TimeSlice(3000)
    assert 2900 < time_slice.left <= 3000
    time_slice.cut()
    time_slice.cut()
    assert time_slice.left == 0


async def test_a_cut_ends_the_wait() -> None:
    async def forever() -> bool:
        await asyncio.Event().wait()
        return True

    async def at_once() -> bool:
        return True

    time_slice = TimeSlice(3000)
    assert await time_slice.within(at_once()) is True
    asyncio.get_running_loop().call_later(0.01, time_slice.cut)
    assert await time_slice.within(forever()) is False


@pytest.mark.parametrize(
    ("heard", "found"),
    [
        (["a", "a\nb", "a\nb\nc"], ["a", "b", "c"]),
        (["a\n", "a\n", "a\nb"], ["a", "", "b"]),
        (["a", "b", "c"], ["a", "b", "c"]),
        (["a", "", "a\nb"], ["a", "", "b"]),
        (["", "a"], ["", "a"]),
        (["ü", "ü\n\ud800"], ["ü", "\ud800"]),
    ],
)
def test_only_new_output_is_returned(heard: list[str], found: list[str]) -> None:
    shown = SeenOutput()
    assert [shown.new(console) for console in heard] == found


def test_attachments_are_new_once() -> None:
    shown = SeenOutput()
    time_slices = ["", "a", "a", "abc", "abc"]
    assert ["".join(shown.new_attachments(one)) for one in time_slices] == ["", "a", "", "bc", ""]
    assert SeenOutput(attached=2).new_attachments("abc") == ("c",)


def test_requests_are_shown_with_the_start_of_their_input() -> None:
    assert describe_request(Request(1, "timer", 5)) == "a timer"
    assert describe_request(Request(1, "tools.a", {"n": "ü"})) == 'tools.a({"n": "ü"})'
    wire = {"n": {"$": "bigint", "v": "3e8"}}
    assert describe_request(Request(1, "tools.a", wire)) == 'tools.a({"n": 1000})'
    assert describe_request(Request(1, "tools.a", {"$": "undefined"})) == "tools.a()"
    assert len(describe_request(Request(1, "tools.a", "x" * 1000))) == len("tools.a()") + 201


async def test_a_timer_lasts_no_longer_than_it_was_set() -> None:
    age = CellAge({1: 10**12})  # the machine's clock was put back
    async with asyncio.timeout(30):
        assert (await age.end(Request(1, "timer", 1), 0.001)).id == 1
    assert (await CellAge({2: 0.0}).end(Request(2, "timer", 10**9), 1e6)).id == 2
    assert (await CellAge().end(Request(3, "timer", 0), -1.0)).id == 3
    assert age.due == {}
