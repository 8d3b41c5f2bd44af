"""Evals of one message run one after another, in whatever order they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interpstack_agents import EvalQueue, QueuePosition

NAMES = ["a", "b", "c"]


class Pause(Exception):
    """An eval that will be run again."""


class Pending(Exception):
    """An eval behind one that was paused."""


@pytest.fixture
def queue() -> EvalQueue:
    return EvalQueue((Pause,), Pending)


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


async def test_behind_a_pause_the_others_are_pending_and_run_in_order(queue: EvalQueue) -> None:
    ran: list[str] = []
    runs = (run(queue, n, ran, Pause() if n == "a" else None) for n in "cba")
    ended = await asyncio.gather(*runs, return_exceptions=True)
    assert ran == ["a"]
    assert {type(one) for one in ended} == {Pause, Pending}
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
        raise Pending

    with queue.taking_part("m", NAMES, "b"), pytest.raises(Pending):
        await queue.wait("m", NAMES, "b", is_coming=is_coming)


#: A run of the message: the evals that are paused, whether LangGraph also runs those again that
#: ended in the run before, the order in which the evals arrive, and the waits between them.
RUN = st.tuples(
    st.sets(st.sampled_from(NAMES), max_size=2),
    st.booleans(),
    st.permutations(NAMES),
    st.lists(st.integers(0, 8), min_size=3, max_size=3),
)


class Impatient(EvalQueue):
    GRACE_SECONDS = 0.01


#: One that ended takes no part in the second run, and is paused in the third.
SKIPPED: list[tuple[set[str], bool, list[str], list[int]]] = [
    ({"b"}, False, NAMES, [0, 0, 0]),
    ({"b"}, False, NAMES, [0, 0, 0]),
    ({"a"}, True, NAMES, [0, 0, 1]),
]


@example(SKIPPED)
@given(st.lists(RUN, min_size=1, max_size=5))
def test_those_that_run_again_keep_the_order_of_the_message(
    runs: list[tuple[set[str], bool, list[str], list[int]]],
) -> None:
    async def play() -> None:
        queue, ended = Impatient((Pause,), Pending), set[str]()
        for pausing, again, arrivals, waits in runs:
            coming = [name for name in arrivals if again or name not in ended]
            ran = await play_once(queue, coming, pausing, waits)
            first = next((n for n in NAMES if n in coming and n in pausing), NAMES[-1])
            behind = NAMES[: NAMES.index(first) + 1]
            assert ran == [name for name in behind if name in coming]
            ended = (set() if again else ended) | (set(ran) - pausing)
            if ended == set(NAMES):
                ended = set()

    asyncio.run(play())


async def play_once(
    queue: EvalQueue, coming: Sequence[str], pausing: set[str], waits: Sequence[int]
) -> list[str]:
    """Run a message's evals once, and return the names of those that ran, in order."""
    ran: list[str] = []
    left = set(coming)

    async def one(name: str, wait: int) -> None:
        for _ in range(wait):
            await asyncio.sleep(0)
        with suppress(Pause, Pending), queue.taking_part("m", NAMES, name):
            await queue.wait("m", NAMES, name, is_coming=lambda other: other in left)
            ran.append(name)
            await asyncio.sleep(0)
            if name in pausing:
                raise Pause
        left.discard(name)

    await asyncio.gather(*(one(*pair) for pair in zip(coming, waits, strict=False)))
    return ran
