"""The queue of the evals in one message of the model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.errors import GraphInterrupt

from interpstack_durable.api import UnreadableJournal
from interpstack_langchain.evals.call_names import SiblingCalls
from interpstack_langchain.evals.eval_queue import CallQueue
from interpstack_langchain.rules.approvals import UnfitAnswer
from interpstack_langchain.state.not_restored import StateNotRestored

EVALS = ("eval", "wait")


def siblings(name: str, *tools: str) -> SiblingCalls:
    """The calls `a`, `b`, … of a message, of these tools, as the one named `name` sees them."""
    names = [chr(ord("a") + place) for place in range(len(tools))]
    calls = [{"name": tool, "args": {}, "id": one} for one, tool in zip(names, tools, strict=True)]
    return SiblingCalls("m1", calls, names, name)


@pytest.fixture
def queue() -> CallQueue:
    return CallQueue(EVALS)


async def test_a_call_of_another_tool_has_no_place(queue: CallQueue) -> None:
    assert await queue.wait(siblings("b", "eval", "search"), {}) is None
    with queue.taking_part(siblings("b", "eval", "search")):
        pass


async def test_the_only_eval_is_the_first(queue: CallQueue) -> None:
    position = await queue.wait(siblings("b", "search", "eval"), {})
    assert position is not None
    assert (position.message, position.index) == ("m1:b", 0)


async def test_all_tools_of_the_interpreter_share_one_order(queue: CallQueue) -> None:
    tools, log = ("eval", "search", "wait"), list[str]()

    async def run(name: str) -> None:
        calls = siblings(name, *tools)
        with queue.taking_part(calls):
            position = await queue.wait(calls, {})
            assert position is not None
            log.append(f"{name} {position.index}")
            await asyncio.sleep(0)

    later = asyncio.ensure_future(run("c"))
    await asyncio.sleep(0)
    await asyncio.gather(later, run("a"))
    assert log == ["a 0", "c 1"]


async def test_an_eval_that_ended_in_an_earlier_run_is_not_waited_for(queue: CallQueue) -> None:
    calls = siblings("b", "eval", "eval")
    with queue.taking_part(calls):
        position = await queue.wait(calls, {}, done=["a"])
    assert position is not None
    assert position.index == 1


PAUSES = [
    GraphInterrupt(()),
    StateNotRestored("later"),
    UnfitAnswer("no date"),
    UnreadableJournal("newer"),
    asyncio.CancelledError(),
]


async def one_after(queue: CallQueue, error: BaseException) -> Any:
    """Wait behind an eval that ends with an exception."""
    with pytest.raises(type(error)), queue.taking_part(siblings("a", "eval", "eval")):
        raise error
    calls = siblings("b", "eval", "eval")
    with queue.taking_part(calls):
        return await queue.wait(calls, {})


@pytest.mark.parametrize("error", PAUSES, ids=lambda error: type(error).__name__)
async def test_evals_behind_one_that_will_run_again_wait_for_it(
    queue: CallQueue, error: BaseException
) -> None:
    with pytest.raises(GraphInterrupt) as pending:
        await one_after(queue, error)
    assert pending.value.args == ((),), "it asks nothing of its own"


async def test_an_eval_behind_one_that_failed_runs(queue: CallQueue) -> None:
    assert await one_after(queue, ValueError("broken")) is not None
