"""Closing, and synchronous calls on a running event loop: an end or an error, never a deadlock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from interpstack import Bridge, ConfigurationError, InterpreterStack, SessionClosed
from interpstack_testing import FakeEngine

Make = Callable[..., Any]


class Counting(FakeEngine):
    """Counts how often it was closed."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


async def _waiting(stack: InterpreterStack, go: asyncio.Event) -> asyncio.Task[Any]:
    """A task whose cell waits for `go`, on this loop."""
    running = asyncio.ensure_future(stack.session("s").eval("await kit.wait()\nx = 1\nx"))
    while not stack.session("s").in_use:  # noqa: ASYNC110 - counts turns
        await asyncio.sleep(0)
    return running


@pytest.fixture
def go() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
def stack(go: asyncio.Event) -> InterpreterStack:
    return InterpreterStack(Counting(), bridges=[Bridge(name="kit.wait", handler=go.wait)])


async def test_a_stack_closes_after_the_cells_that_run(
    stack: InterpreterStack, go: asyncio.Event
) -> None:
    async with stack:
        running = await _waiting(stack, go)
        asyncio.get_running_loop().call_later(0.05, go.set)
    assert (await running).text == "1"
    assert stack.engine.closed == 1
    with pytest.raises(SessionClosed):
        stack.session("other")
    await stack.aclose()  # twice is allowed


async def test_closing_can_be_given_up_and_done_again(
    stack: InterpreterStack, go: asyncio.Event
) -> None:
    running = await _waiting(stack, go)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(stack.aclose(), 0.05)
    assert not running.done()
    go.set()
    assert (await running).text == "1"
    await stack.aclose()
    assert stack.engine.closed == 1


async def test_a_synchronous_close_with_a_cell_on_this_loop_is_refused(
    stack: InterpreterStack, go: asyncio.Event
) -> None:
    """As in a web server's shutdown with a request in flight."""
    idle = stack.session("idle")
    await idle.eval("1")
    running = await _waiting(stack, go)
    with pytest.raises(ConfigurationError, match=r"await stack\.aclose\(\)"):
        stack.close()
    with pytest.raises(SessionClosed):
        await idle.eval("1")
    go.set()
    assert (await running).text == "1"
    await stack.aclose()
    assert stack.engine.closed == 1


async def test_a_synchronous_eval_behind_a_cell_of_this_loop_is_refused(
    stack: InterpreterStack, go: asyncio.Event
) -> None:
    """As in a notebook, where a cell of the notebook left a task behind."""
    running = await _waiting(stack, go)
    session = stack.session("s")
    for call in (lambda: session.eval_sync("1"), session.close):
        with pytest.raises(ConfigurationError, match=r"await session\.eval"):
            call()
    assert stack.session("other").eval_sync("2").text == "2"
    go.set()
    assert (await running).text == "1"
    assert session.eval_sync("x + 1").text == "2"
    await stack.aclose()


def test_a_synchronous_close_works_where_no_loop_runs(stack: InterpreterStack) -> None:
    with stack:
        assert stack.session("s").eval_sync("1").text == "1"
    stack.close()


async def test_a_session_that_a_bridge_of_its_own_closes_says_so(make_stack: Make) -> None:
    async def close() -> None:
        await session.aclose()

    session = make_stack(Bridge(name="kit.close", handler=close)).session("s")
    outcome = await session.eval("await kit.close()")
    assert "would wait for itself" in outcome.error.message


# -- sessions that wait for each other -------------------------------------------------------


async def _both(make_stack: Make, count: int) -> list[Any]:
    """Cells of that many sessions, each of which evals the next one at the same moment."""
    met = asyncio.Barrier(count)

    async def call(number: int) -> str:
        await met.wait()
        return str((await sessions[number].eval("1")).text)

    stack = make_stack(Bridge(name="kit.call", handler=call))
    sessions = [stack.session(f"s{number}") for number in range(count)]
    cells = [f"await kit.call(number={(number + 1) % count})" for number in range(count)]
    evals = [session.eval(cell) for session, cell in zip(sessions, cells, strict=True)]
    async with asyncio.timeout(60):
        return list(await asyncio.gather(*evals))


@pytest.mark.parametrize("count", [2, 5])
async def test_sessions_that_wait_for_each_other_are_reported(make_stack: Make, count: int) -> None:
    outcomes = await _both(make_stack, count)
    failed = [outcome.error.message for outcome in outcomes if outcome.error]
    assert len(failed) == 1  # the last of the circle; then the others go on
    assert failed[0].startswith("this eval would never end: session 's")
    assert failed[0].count("waits for") == count


async def test_sessions_that_wait_for_one_another_in_a_row_are_not(make_stack: Make) -> None:
    async def call(number: int) -> str:
        return str((await sessions[number].eval(cells[number])).text)

    stack = make_stack(Bridge(name="kit.call", handler=call))
    sessions = [stack.session(f"s{number}") for number in range(4)]
    cells = [f"await kit.call(number={number + 1})" for number in range(3)] + ["7"]
    outcomes = await asyncio.gather(*(s.eval(c) for s, c in zip(sessions, cells, strict=True)))
    assert all(outcome.ok for outcome in outcomes), outcomes


# -- sessions without a block ----------------------------------------------------------------


async def test_the_bound_holds_for_sessions_used_without_a_block(
    make_stack: Make, imaging_engine: Any
) -> None:
    stack = make_stack(engine=imaging_engine, max_live_sessions=3)
    for number in range(10):
        assert (await stack.session(f"s{number}").eval(f"x = {number}")).ok
        assert sum(stack.session(f"s{n}").live for n in range(number + 1)) <= 3
    for number in range(10):
        assert stack.session(f"s{number}").eval_sync("x").text == str(number)
    assert sum(stack.session(f"s{n}").live for n in range(10)) == 3
