"""State in real checkpointers: across turns, processes, forks and threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import stores
from langchain_core.tools import tool
from langgraph.types import Command
from scripted import answers

Talk = Callable[..., Any]

STORES = ("memory", "memory-async", "sqlite", "sqlite-async", "postgres", "postgres-async")
LASTING = STORES[2:]
COUNTER = "let n = 1; const step = (by = 1) => (n += by); class Box {}; n"


@pytest.fixture
async def talk(converse: Talk, store: Any) -> AsyncIterator[Talk]:
    """Makes agents on one and the same checkpointer; each has an interpreter of its own."""
    async with store.open() as saver:
        yield lambda **options: converse(saver=saver, is_async=store.is_async, **options)


def in_another_process(store: Any, thread: str, *steps: str) -> list[str]:
    script = Path(__file__).with_name("another_process.py")
    given = [store.name, store.place, thread, json.dumps(steps)]
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), *given],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(stores.__file__).parent)},
    )
    assert done.returncode == 0, done.stderr
    answers: list[str] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize("store", STORES, indirect=True)
async def test_variables_outlive_turns_and_interpreters(talk: Talk) -> None:
    agent = talk()
    assert await agent.run(COUNTER, "step()") == ["<result>1</result>", "<result>2</result>"]
    assert await agent.one("step()") == "<result>3</result>"
    # Another interpreter has no live session: all it knows is in the checkpointer.
    assert await talk().one("[step(), new Box()]") == "<result>[4, Box {}]</result>"
    # The first one's live session is now behind the checkpointer, and must not be used.
    assert await agent.one("step()") == "<result>5</result>"


@pytest.mark.parametrize("store", LASTING, indirect=True)
async def test_variables_outlive_the_process(talk: Talk, store: Any) -> None:
    agent = talk()
    await agent.run(COUNTER)
    assert in_another_process(store, "t", "step(10)", "new Box()") == [
        "<result>11</result>",
        "<result>Box {}</result>",
    ]
    assert await agent.one("step()") == "<result>12</result>"


@pytest.mark.parametrize("store", STORES, indirect=True)
async def test_threads_never_meet(talk: Talk) -> None:
    agent = talk()
    for thread in ("a", "b"):
        assert await agent.one(f"let mine = '{thread}'; mine", thread=thread)
    for thread in ("a", "b", "a"):
        assert await agent.one("mine += '!'", thread=thread)
    assert await agent.one("mine", thread="a") == "<result>a!!</result>"
    assert await talk().one("mine", thread="b") == "<result>b!</result>"
    assert await agent.one("typeof mine", thread="c") == "<result>undefined</result>"


@pytest.mark.parametrize("store", STORES, indirect=True)
async def test_a_fork_goes_on_from_its_checkpoint(talk: Talk) -> None:
    agent = talk()
    await agent.turn(COUNTER)
    await agent.turn("step(10)")
    await agent.turn("step(100)")
    first, second, third = await agent.history()

    # Time travel: each checkpoint has the state of its own time, in any order of asking.
    for state, value in ((third, 111), (first, 1), (second, 11), (first, 1)):
        assert await agent.one("n", config=state.config) == f"<result>{value}</result>"

    fork = await agent.turn("step(1000)", config=first.config)
    assert fork["messages"][-2].text == "<result>1001</result>"
    # The newest checkpoint of the thread is now the fork's.
    assert await talk().one("step(1)") == "<result>1002</result>"
    # What the fork left is still there.
    assert await talk().one("step(1)", config=third.config) == "<result>112</result>"


@pytest.mark.parametrize("store", STORES, indirect=True)
async def test_a_checkpoint_that_is_resumed_again_has_the_same_state_each_time(talk: Talk) -> None:
    paid = []

    @tool
    def pay(n: int) -> int:
        """Pay."""
        paid.append(n)
        return n

    options = {"tools": [pay], "interrupt_on": {"pay": True}}
    await talk(**options).turn("let n = 0; n")
    steps = [["n += 1; n", "n += 10; await tools.pay({n}); n", "n += 100; n"], "n += 1000; n"]
    (asked,) = (await talk(**options).turn(*steps))["__interrupt__"]
    paused = await talk(**options).state()
    approved = Command(resume={asked.id: {"decisions": [{"type": "approve"}]}})
    for _ in range(2):
        ended = await talk(**options).send(approved, paused.config)
        assert answers(ended) == [f"<result>{n}</result>" for n in (1, 11, 111, 1111)]
        assert await talk(**options).run("n += 1; n", "n") == ["<result>1112</result>"] * 2
    assert paid == [11]


@pytest.mark.parametrize("store", STORES, indirect=True)
async def test_evals_of_one_message_are_stored_in_order(talk: Talk) -> None:
    agent = talk()
    assert await agent.run(COUNTER, ["step()", "step() * 10", "n"]) == [
        "<result>1</result>",
        "<result>2</result>",
        "<result>30</result>",
        "<result>3</result>",
    ]
    assert await talk().one("n") == "<result>3</result>"


@pytest.mark.parametrize("store", STORES, indirect=True)
async def test_every_checkpoint_of_a_long_thread_has_its_own_state(talk: Talk) -> None:
    agent = talk()
    for turn in range(18):
        await agent.turn(f"globalThis.n = {turn}; globalThis.log = [...(globalThis.log ?? []), n]")
    ends = await agent.history()
    assert len(ends) == 18
    for turn in (0, 6, 7, 8, 14, 15, 17, 3):
        other = talk()  # it knows only what is stored: whole records and what changed since
        expected = f"<result>[{turn}, {turn + 1}]</result>"
        assert await other.one("[n, log.length]", config=ends[turn].config) == expected
