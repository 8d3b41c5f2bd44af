"""Runners live on one event loop, whichever loop calls them."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from interpstack import ConfigurationError, run_sync
from interpstack_langchain.workflows.by_models import homes
from interpstack_langchain.workflows.by_models.homes import RunnerHome
from interpstack_workflows.api import WorkflowRunner

_mine: contextvars.ContextVar[str] = contextvars.ContextVar("mine", default="")


async def where(runner: WorkflowRunner) -> Any:
    return asyncio.get_running_loop(), runner, _mine.get()


async def test_calls_from_other_loops_come_home() -> None:
    home = RunnerHome(WorkflowRunner)
    _mine.set("the caller's")
    loop, runner, seen = await home.call(where)
    assert loop is asyncio.get_running_loop()
    assert seen == "", "nothing of the caller's context"
    for call in (
        lambda: run_sync(home.call(where)),
        lambda: asyncio.run(home.call(where)),
    ):
        assert (await asyncio.to_thread(call))[:2] == (loop, runner)
    events = runner.subscribe()
    await asyncio.to_thread(lambda: asyncio.run(home.aclose()))
    assert [event async for event in events] == [], "its end ends its subscriptions"


def test_a_runner_is_made_anew_when_its_loop_is_closed() -> None:
    home = RunnerHome(WorkflowRunner)
    first = asyncio.run(home.call(where))
    second = asyncio.run(home.call(where))
    assert first[1] is not second[1]


async def test_a_loop_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes, "_ANSWER_SECONDS", 0.1)
    home = RunnerHome(WorkflowRunner)
    other, blocked = asyncio.new_event_loop(), threading.Event()
    thread = threading.Thread(target=other.run_forever)
    thread.start()
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(home.call(where), other))
    other.call_soon_threadsafe(blocked.wait)
    with pytest.raises(ConfigurationError, match="does not answer"):
        await home.call(where)
    blocked.set()
    await home.call(where)
    other.call_soon_threadsafe(other.stop)
    thread.join()
    with pytest.raises(ConfigurationError, match="does not answer"):
        await home.call(where)
    other.close()
    assert (await home.call(where))[0] is asyncio.get_running_loop()
    await home.aclose()
    await home.aclose()


async def test_a_runner_of_the_host_stays_open() -> None:
    async with WorkflowRunner() as runner:
        home = RunnerHome(lambda: runner, owned=False)
        assert (await home.call(where))[1] is runner
        await home.aclose()
        assert await runner.workflows() == {}
