"""Subagents in code, and events, beside langchain-quickjs.

`docs/reference/compared.md` names these tests.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from guests import GuestCode
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langgraph.types import Command, interrupt
from parity import HELPER, Talk, echo, result


@pytest.mark.engines("all")
async def test_area_task(converse: Talk, guest: GuestCode) -> None:
    agent = converse(subagents=[HELPER])
    jobs = [guest.dispatch(description=f"job {n}", subagent_type="helper") for n in (1, 2, 3)]
    failing = f"await {guest.dispatch(description='fail', subagent_type='helper')}"
    one = guest.dispatch(description="one", subagent_type="helper", label="first")
    found = await agent.run(
        f"await {one}",
        guest.cell(guest.all(*jobs)),
        guest.cell(guest.catch("said", failing), "said"),
    )
    answers = [f"did job {n}" for n in (1, 2, 3)]
    assert found[:2] == [result("did one"), result(guest.shown(answers))]
    assert "helper is out" in found[2]
    nobody = guest.dispatch(description="x", subagent_type="nobody")
    unknown = await agent.one(f"await {nobody}")
    assert "nobody" in unknown
    assert "helper" in unknown
    assert await converse().one(guest.exists("task")) == result("gone")


@pytest.mark.engines("javascript")
async def test_area_task_is_frozen(converse: Talk) -> None:
    agent = converse(subagents=[HELPER])
    kept = "try { globalThis.task = 1 } catch { typeof task }"
    assert await agent.one(kept) == result("function")


@pytest.mark.engines("all")
async def test_area_task_concurrency(converse: Talk, guest: GuestCode) -> None:
    running, most = 0, 0
    loop = asyncio.get_running_loop()

    async def count(state: Any) -> Any:
        nonlocal running, most
        assert asyncio.get_running_loop() is loop
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return {"messages": [AIMessage("ok")]}

    helper = {**HELPER, "runnable": RunnableLambda(count)}
    agent = converse(subagents=[helper], max_subagent_concurrency=4)
    jobs = [guest.dispatch(description="x", subagent_type="helper")] * 20
    code = guest.cell(guest.set("done", guest.all(*jobs)), guest.length.format(value="done"))
    assert await agent.one(code) == result("20")
    assert most == 4


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.engines("javascript")
async def test_area_task_schema(converse: Talk) -> None:
    helper = {
        "name": "helper",
        "description": "Helps.",
        "system_prompt": "Answer.",
        "model": structured_model(),
        "tools": [],
    }
    agent = converse(subagents=[helper])
    given = json.dumps(SCHEMA)
    answer = await agent.one(
        "const r = await task({description: 'd', subagentType: 'helper', "
        f"responseSchema: {given}}}); [typeof r, r.n + 1]"
    )
    assert answer == result('["object", 43]')
    big = json.dumps({"type": "object", "description": "x" * 5000})
    for schema, word in ((big, "4096"), (json.dumps(nested(8)), "5"), (json.dumps(wide()), "32")):
        refused = await agent.one(
            f"await task({{description: 'd', subagentType: 'helper', responseSchema: {schema}}})"
        )
        assert refused.startswith("<error ")
        assert word in refused


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


def wide() -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(40)}}


def structured_model() -> Any:
    """A model that answers with the structured-output tool it was given."""

    class Model(GenericFakeChatModel):
        name_of_tool: str = ""

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            names = [t.name if hasattr(t, "name") else t["name"] for t in tools]
            return self.model_copy(update={"name_of_tool": names[-1]})

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            call = {"name": self.name_of_tool, "args": {"n": 42}, "id": "s", "type": "tool_call"}
            message = AIMessage("", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=message)])

    return Model(messages=iter(()))


@pytest.mark.engines("all")
async def test_area_events(converse: Talk, guest: GuestCode) -> None:
    agent = converse(tools=[echo], subagents=[HELPER])
    dispatch = guest.dispatch
    code = guest.cell(
        guest.call("echo", text="x"),
        f"await {dispatch(description='d' * 300, subagent_type='helper', label='L')}",
        guest.catch("told", f"await {dispatch(description='fail', subagent_type='helper')}"),
    )
    config = {"configurable": {"thread_id": "t"}}
    given = {"messages": [("user", json.dumps([code]))]}
    stream = agent.agent.astream(given, config, stream_mode="custom")
    events = [event async for event in stream]
    tools = [event for event in events if event["type"] == "tool"]
    assert [event["phase"] for event in tools] == ["start", "complete"]
    first, done, second, failed = (event for event in events if event["type"] == "subagent")
    assert [first["phase"], done["phase"]] == ["start", "complete"]
    assert [second["phase"], failed["phase"]] == ["start", "error"]
    assert first["id"] == done["id"] != second["id"]
    assert first["eval_id"] == second["eval_id"]
    assert (first["subagent_type"], first["label"]) == ("helper", "L")
    assert len(first["description"]) == 200
    assert isinstance(done["duration_ms"], int)
    assert "helper is out" in failed["error"]


@pytest.mark.engines("all")
async def test_area_events_of_a_replay(converse: Talk, guest: GuestCode) -> None:
    """A dispatch keeps its id when its eval was interrupted and runs again."""

    async def ask(state: Any) -> Any:
        return {"messages": [*state["messages"], AIMessage(str(interrupt("may I?")))]}

    agent = converse(subagents=[{**HELPER, "runnable": RunnableLambda(ask)}])
    config = {"configurable": {"thread_id": "t"}}
    code = f"await {guest.dispatch(description='d', subagent_type='helper')}"
    ids = []
    for given in ({"messages": [("user", json.dumps([code]))]}, Command(resume="yes")):
        stream = agent.agent.astream(given, config, stream_mode="custom")
        ids.append([event["id"] async for event in stream if event["phase"] == "start"])
    assert ids[0] == ids[1]
    assert len(ids[0]) == 1
