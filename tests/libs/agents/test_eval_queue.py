"""Evals of one message run one after another, in whatever order they arrive."""

from __future__ import annotations

import asyncio

import pytest

from interpstack_agents import EvalQueue, QueuePosition

NAMES = ["a", "b", "c"]


class Pause(Exception):
    """An eval that will be run again."""


class Held(Exception):
    """An eval behind one that was paused."""


@pytest.fixture
def queue() -> EvalQueue:
    return EvalQueue((Pause,), Held)


async def run(queue: EvalQueue, name: str, ran: list[str], fails: Exception | None = None) -> None:
    with queue.taking_part("m", NAMES, name):
        position = await queue.wait("m", NAMES, name)
        assert position == QueuePosition("m", NAMES.index(name))
        ran.append(name)
        if fails is not None:
            raise fails


async def test_they_run_in_the_order_of_the_message(queue: EvalQueue) -> None:
    for arrival in ("cba", "bca", "abc"):
        ran: list[str] = []
        await asyncio.gather(*(run(queue, name, ran) for name in arrival))
        assert ran == NAMES


async def test_one_that_fails_lets_the_next_run(queue: EvalQueue) -> None:
    ran: list[str] = []
    runs = (run(queue, n, ran, ValueError() if n == "a" else None) for n in "cba")
    ended = await asyncio.gather(*runs, return_exceptions=True)
    assert ran == NAMES
    assert [type(one) for one in ended] == [type(None), type(None), ValueError]


async def test_behind_a_pause_the_others_are_held_and_come_back_in_order(queue: EvalQueue) -> None:
    ran: list[str] = []
    runs = (run(queue, n, ran, Pause() if n == "a" else None) for n in "cba")
    ended = await asyncio.gather(*runs, return_exceptions=True)
    assert ran == ["a"]
    assert {type(one) for one in ended} == {Pause, Held}
    await asyncio.gather(*(run(queue, name, ran) for name in "cba"))
    assert ran == ["a", *NAMES]


async def test_one_that_ended_before_is_not_waited_for(queue: EvalQueue) -> None:
    with queue.taking_part("m", NAMES, "c"):
        position = await queue.wait("m", NAMES, "c", done=["a", "b"])
    assert position == QueuePosition("m", 2)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EvalQueue, "GRACE_SECONDS", 0.01)


@pytest.mark.usefixtures("_impatient")
async def test_one_that_does_not_come_is_not_waited_for(queue: EvalQueue) -> None:
    with queue.taking_part("m", NAMES, "b"):
        assert await queue.wait("m", NAMES, "b") == QueuePosition("m", 1)


@pytest.mark.usefixtures("_impatient")
async def test_one_that_still_comes_is_waited_for(queue: EvalQueue) -> None:
    ran: list[str] = []

    async def last() -> None:
        with queue.taking_part("m", NAMES, "c"):
            await queue.wait("m", NAMES, "c", is_coming=lambda name: True)
            ran.append("c")

    waiting = asyncio.create_task(last())
    for name in "ab":
        await asyncio.sleep(0.05)
        await run(queue, name, ran)
    await waiting
    assert ran == NAMES


@pytest.mark.usefixtures("_impatient")
async def test_one_that_comes_again_later_ends_the_wait(queue: EvalQueue) -> None:
    def is_coming(name: str) -> bool:
        raise Held

    with queue.taking_part("m", NAMES, "b"), pytest.raises(Held):
        await queue.wait("m", NAMES, "b", is_coming=is_coming)
