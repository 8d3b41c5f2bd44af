"""Values that come from the host are refused before a run starts or a message is stored."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_runs import MemoryRuns, runner, script

from interpstack_workflows.errors import ArgumentsError, WorkflowError


async def _echo(prompt: str) -> str:
    return prompt


def _deep() -> Any:
    value: Any = []
    for _ in range(1_000_000):
        value = [value]
    return value


@pytest.mark.parametrize("value", [_deep(), "x" * 20_000_000, {1, 2}, float("nan")])
async def test_messages_are_bounded_and_stored_only_if_they_are_json(value: Any) -> None:
    store = MemoryRuns()
    async with runner(_echo, store) as one:
        body = "return Promise.all([wait('go'), ask('Go?')])"
        waiting = await one.run(script(body), run_id="run_a")
        asked = next(wait["id"] for wait in waiting.waiting_for if wait["kind"] == "ask")
        with pytest.raises(WorkflowError, match=r"^The signal 'go' cannot be sent: "):
            await one.signal("run_a", "go", value)
        with pytest.raises(WorkflowError, match=r"^The answer to 'root/.*' cannot be sent: "):
            await one.answer("run_a", asked, value)
        assert await store.messages("run_a", 0) == []
        await one.signal("run_a", "go", 2**60)
        await one.answer("run_a", asked, ["yes"])
        handle = await one.resume("run_a")
        result = await handle.result()
    assert "BigInt at $[0]" in str(result.error)  # it arrived without loss


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (_deep(), "nested deeper than 200 levels"),
        ("x" * 20_000_000, "more than 16777216 bytes"),
        ({"id": 12345678901234567890}, "12345678901234567890 is beyond 2..53-1"),
        ({1: "a", "1": "b"}, "two keys that are '1' as text"),
    ],
)
async def test_arguments_that_a_script_would_get_otherwise_are_refused(args: Any, why: str) -> None:
    async with runner(_echo, MemoryRuns()) as one:
        with pytest.raises(ArgumentsError, match=why):
            await one.run(script("return args"), args)
        assert list(await one.runs()) == []


async def test_a_run_keeps_the_arguments_that_it_began_with() -> None:
    args: dict[str, Any] = {"names": ["Ada"]}
    async with runner(_echo, MemoryRuns()) as one:
        body = "await ask('Go?'); return args.names"
        waiting = await one.run(script(body), args)
        args["names"].append("Bo")
        await one.answer(waiting.run_id, waiting.waiting_for[0]["id"], "yes")
        result = await (await one.resume(waiting.run_id)).result()
    assert result.result == ["Ada"]


@pytest.mark.parametrize("answer", [_deep(), "x" * 20_000_000])
async def test_an_answer_of_an_agent_that_cannot_be_carried_is_its_failure(answer: Any) -> None:
    async def agent(prompt: str) -> Any:
        return answer

    async with runner(agent, MemoryRuns()) as one:
        result = await one.run(script("return agent('a')"))
    error: Any = result.error
    assert error["name"] == "AgentFailed"
    assert error["message"].startswith("agent 'default' has to answer in JSON, but ")


async def test_options_that_a_run_lacks_are_named() -> None:
    async with runner(_echo, MemoryRuns()) as one:
        with pytest.raises(TypeError, match="no option 'bugdet'; it has budget, budgets, "):
            await one.run(script("return 1"), bugdet=5)
        with pytest.raises(WorkflowError, match=r"^run_id takes 1 to 200 letters"):
            await one.run(script("return 1"), run_id="a/b")
