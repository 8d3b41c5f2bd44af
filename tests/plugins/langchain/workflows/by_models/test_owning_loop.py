"""Runners live on one event loop, whichever loop calls them."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from interpstack import ConfigurationError, run_sync
from interpstack_langchain.workflows.by_models import owning_loop
from interpstack_langchain.workflows.by_models.owning_loop import OwningLoop
from interpstack_workflows.api import WorkflowRunner

_mine: contextvars.ContextVar[str] = contextvars.ContextVar("mine", default="")


async def where(runner: WorkflowRunner) -> Any:
    return asyncio.get_running_loop(), runner, _mine.get()


async def test_calls_from_other_loops_run_on_the_owning_loop() -> None:
    owning = OwningLoop(WorkflowRunner)
    _mine.set("the caller's")
    loop, runner, seen = await owning.call(where)
    assert loop is asyncio.get_running_loop()
    assert seen == "", "nothing of the caller's context"
    for call in (
        lambda: run_sync(owning.call(where)),
        lambda: asyncio.run(owning.call(where)),
    ):
        assert (await asyncio.to_thread(call))[:2] == (loop, runner)
    events = runner.subscribe()
    await asyncio.to_thread(lambda: asyncio.run(owning.aclose()))
    assert [event async for event in events] == [], "its end ends its subscriptions"


def test_a_runner_is_made_anew_when_its_loop_is_closed() -> None:
    owning = OwningLoop(WorkflowRunner)
    first = asyncio.run(owning.call(where))
    second = asyncio.run(owning.call(where))
    assert first[1] is not second[1]


async def test_a_loop_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owning_loop, "_ANSWER_SECONDS", 0.1)
    owning = OwningLoop(WorkflowRunner)
    other, blocked = asyncio.new_event_loop(), threading.Event()
    thread = threading.Thread(target=other.run_forever)
    thread.start()
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(owning.call(where), other))
    other.call_soon_threadsafe(blocked.wait)
    with pytest.raises(ConfigurationError, match="does not answer"):
        await owning.call(where)
    blocked.set()
    await owning.call(where)
    other.call_soon_threadsafe(other.stop)
    thread.join()
    with pytest.raises(ConfigurationError, match="does not answer"):
        await owning.call(where)
    other.close()
    assert (await owning.call(where))[0] is asyncio.get_running_loop()
    await owning.aclose()
    await owning.aclose()


async def test_a_runner_of_the_host_stays_open() -> None:
    async with WorkflowRunner() as runner:
        owning = OwningLoop(lambda: runner, owned=False)
        assert (await owning.call(where))[1] is runner
        await owning.aclose()
        assert await runner.workflows() == {}
