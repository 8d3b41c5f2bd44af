"""An exit inside an agent, or a step that is never awaited, ends the step and is reported."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from workflow_runs import MemoryRuns, runner, script

from interpstack_workflows.api import LogEvent, WorkflowRunner


async def _echo(prompt: str) -> str:
    return prompt


async def _cancelled(prompt: str) -> None:
    task = asyncio.create_task(asyncio.sleep(60))
    task.cancel()
    await task


async def _exits(prompt: str) -> None:
    sys.exit(3)


class _Stop(BaseException):
    """An exception that `except Exception` does not catch, as those of test runners."""


async def _stops(prompt: str) -> None:
    raise _Stop("enough")


async def _stops_in_a_group(prompt: str) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_stops(prompt))


async def _closes(prompt: str) -> None:
    raise GeneratorExit


async def _cancelled_behind_a_group(prompt: str) -> None:
    try:
        await _stops_in_a_group(prompt)
    except BaseExceptionGroup:
        await _cancelled(prompt)


@pytest.mark.parametrize(
    ("agent", "name", "why"),
    [
        (_cancelled, "CancelledError", "agent 'default' was cancelled by its own code"),
        (_exits, "SystemExit", "agent 'default' called sys.exit(3)"),
        (_stops, "_Stop", "agent 'default' failed: _Stop: enough"),
        (_stops_in_a_group, "BaseExceptionGroup", "agent 'default' failed: BaseExceptionGroup: "),
        (_cancelled_behind_a_group, "CancelledError", "agent 'default' was cancelled by its own"),
        (_closes, "RuntimeError", "the agent or the sandbox raised GeneratorExit"),
    ],
)
async def test_an_agent_that_ends_from_inside_fails_and_is_tried_again(
    agent: Any, name: str, why: str
) -> None:
    async with runner(agent, MemoryRuns()) as one:
        body = "return agent('a', {retry: {maxAttempts: 2}})"
        async with asyncio.timeout(30):
            result = await one.run(script(body))
    error: Any = result.error
    assert (error["name"], error["message"].startswith(why)) == (name, True)
    assert result.usage["agents"] == 2


@pytest.mark.parametrize(
    ("ends", "name"),
    [
        (_cancelled, "CancelledError"),
        (_exits, "SystemExit"),
        (_stops, "_Stop"),
        (_cancelled_behind_a_group, "CancelledError"),
        (_closes, "RuntimeError"),
    ],
)
async def test_a_sandbox_that_ends_from_inside_fails_its_step(ends: Any, name: str) -> None:
    async def sandbox(spec: Any) -> Any:
        await ends("")

    source = script("return SW.sandbox.exec('local/x', {command: 'a'})")
    async with WorkflowRunner(sandboxes={"local/x": sandbox}) as one:
        async with asyncio.timeout(30):
            result = await one.run(source)
    error: Any = result.error
    assert error["name"] == name


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("agent('x'); agent('y'); return 1", "agent 'x', agent 'y'"),
        ("return Promise.race([agent('a'), wait('s')])", "wait 's'"),
        ("for (let i = 0; i < 8; i++) agent('n' + i)", "'n3', agent 'n4' and 3 more"),
    ],
)
async def test_steps_that_a_script_does_not_await_are_named(body: str, named: str) -> None:
    logged: list[str] = []

    def take(event: Any) -> None:
        if isinstance(event, LogEvent):
            logged.append(event.message)

    async with WorkflowRunner(agents={"default": _echo}, events=take) as one:
        await one.run(script(body))
        assert logged == [logged[0]]
        assert named in logged[0]
        assert logged[0].endswith("steps that are not awaited are stopped")
        await one.run(script("await agent('a'); return 1"))
    assert len(logged) == 1


@pytest.mark.parametrize(
    ("body", "failed"),
    [
        ("Promise.reject(new RangeError('lost')); return 1", "RangeError: lost, at default"),
        (
            "[1].forEach(async (n) => { await agent(n + ''); n.a.b }); await agent('z')",
            "TypeError: ",
        ),
        ("(async () => { await agent('x'); throw 5 })(); await agent('y'); return 1", "failed: 5"),
    ],
)
async def test_a_failure_that_a_script_does_not_await_is_logged(body: str, failed: str) -> None:
    logged: list[str] = []

    def take(event: Any) -> None:
        if isinstance(event, LogEvent):
            logged.append(event.message)

    async with WorkflowRunner(agents={"default": _echo}, events=take) as one:
        result = await one.run(script(body))
        assert result.status == "completed"
        assert len(logged) == 1
        assert logged[0].startswith("the script did not await what failed: ")
        assert failed in logged[0]
        handled = "const p = Promise.reject(1); await agent('a'); return p.catch(() => 2)"
        assert (await one.run(script(handled))).result == 2
    assert len(logged) == 1


async def test_a_log_shows_what_json_lacks() -> None:
    logged: list[str] = []

    def take(event: Any) -> None:
        if isinstance(event, LogEvent):
            logged.append(event.message)

    body = "log(undefined, NaN, -1 / 0, Symbol('s'), () => 1, null, 'text')"
    async with WorkflowRunner(agents={"default": _echo}, events=take) as one:
        await one.run(script(body))
    assert logged == ["undefined NaN -Infinity Symbol(s) [function] null text"]
