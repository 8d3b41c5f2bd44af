"""What each verb does, and what of it is recorded."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script

from interpstack_commands import ExecSpec


async def test_a_sleep_lasts_at_least_its_time() -> None:
    async with runner(Prompts()) as one:
        began = time.time()
        result = await one.run(script("const a = await sleep(30); return a === undefined"))
    assert result.result is True
    assert time.time() - began >= 0.03


async def test_commands_are_recorded_and_not_repeated() -> None:
    done: list[ExecSpec] = []

    async def shell(spec: ExecSpec) -> Mapping[str, Any]:
        done.append(spec)
        return {"exitCode": 0, "stdout": spec.command, "stderr": "", "more": 1}

    store = MemoryRuns()
    body = (
        "const a = await exec('local/a', {command: 'ls', args: ['-l']}); await ask('?'); return a"
    )
    async with runner(Prompts(), store, sandboxes={"local/a": shell}, linger_seconds=0) as one:
        asked = await one.run(script(body))
        await one.answer(asked.run_id, asked.waiting_for[0]["id"], 1)
        result = await (await one.resume(asked.run_id)).result()
        assert result.result == {"exitCode": 0, "stdout": "ls", "stderr": ""}
        assert [spec.args for spec in done] == [("-l",)]
        unknown = await one.run(script("return exec('local/b', {command: 'ls'})"))
    assert unknown.error is not None
    assert unknown.error["message"] == (
        "Unknown sandbox profile 'local/b'; the runner has: local/a"
    )


async def test_a_checkpoint_keeps_its_first_value() -> None:
    store, seen = MemoryRuns(), []

    async def agent(prompt: str) -> str:
        seen.append(prompt)
        return prompt

    body = (
        "const a = await checkpoint('now', [args, 1]); await agent('x'); await ask('?'); return a"
    )
    async with runner(agent, store, linger_seconds=0) as one:
        asked = await one.run(script(body), 3)
        await one.answer(asked.run_id, asked.waiting_for[0]["id"], 1)
        assert (await (await one.resume(asked.run_id)).result()).result == [3, 1]
    assert seen == ["x"]


async def test_signals_are_taken_in_their_order_even_if_early() -> None:
    async with runner(Prompts(), linger_seconds=0) as one:
        body = "await ask('?'); return [await wait('a'), await wait('b'), await wait('a')]"
        asked = await one.run(script(body))
        for name, value in (("a", 1), ("a", 2), ("b", 3)):
            await one.signal(asked.run_id, name, value)
        await one.answer(asked.run_id, asked.waiting_for[0]["id"], None)
        assert (await (await one.resume(asked.run_id)).result()).result == [1, 3, 2]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("{timeoutMs: 20, default: 'none'}", "none"),
        ("{timeoutMs: 20}", "WaitTimeout: nothing arrived in time for 'go'"),
        ("{timeoutMs: 'x'}", 'TypeError: timeoutMs takes milliseconds, 0 or more; got "x"'),
    ],
)
async def test_waits_have_time_limits(options: str, expected: str) -> None:
    async with runner(Prompts()) as one:
        body = f"return wait('go', {options}).catch(e => e.name + ': ' + e.message)"
        assert (await (await one.start(script(body))).result()).result == expected


async def test_failed_steps_fail_again_unless_they_are_to_be_tried() -> None:
    tries = []

    async def agent(prompt: str) -> str:
        tries.append(prompt)
        if len(tries) == 1:
            raise ValueError("no")
        return "yes"

    async with runner(agent) as one:
        failed = await one.run(script("return agent('a')"))
        assert failed.error is not None
        assert (failed.error["name"], failed.error["message"]) == ("ValueError", "no")
        assert (await (await one.resume(failed.run_id)).result()).status == "failed"
        assert len(tries) == 1
        again = await one.resume(failed.run_id, retry_failed=True)
        assert (await again.result()).result == "yes"
