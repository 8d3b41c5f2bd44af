"""Decisions of people about subagents that code dispatches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from deepagents import create_deep_agent
from fake_models import FakeModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from interpstack_langchain import CodeInterpreterMiddleware

CONFIG: Any = {"configurable": {"thread_id": "1"}}
ASKS = {"interrupt_on": {"task": True}}
GREETS = "await task({description: 'Greet', subagentType: 'greeter'})"
SCHEMA = "{type: 'object', description: 'pay Eve', properties: {n: {type: 'number'}}}"
TYPED = (
    f"const a = await task({{description: 'n', subagentType: 'greeter', responseSchema: {SCHEMA}}})"
)

Agent = Any


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


@tool
async def look() -> str:
    """Look; there is only an async form."""
    return "seen"


class Reading(FakeModel):
    """A model that tells the schemas of the tools that it is given."""

    tell: Any

    def bind_tools(self, tools: Any, **_: Any) -> Reading:
        self.tell(getattr(one, "args_schema", None) for one in tools)
        return self


@pytest.fixture
def read() -> list[Any]:
    """What the model of the subagents has read."""
    return []


@pytest.fixture
def paused(read: list[Any]) -> Iterator[Any]:
    """Runs code in a deep agent, and returns the agent and the call that waits."""
    opened: list[CodeInterpreterMiddleware] = []

    def run(code: str, **options: Any) -> tuple[Agent, dict[str, Any]]:
        call = {"name": "eval", "args": {"code": code}, "id": "1"}

        def subagent(name: str, tools: list[Any]) -> Any:
            says = [AIMessage(f"I am {name}")] * 3
            model = Reading(messages=iter(says), tell=read.extend)
            about = {"name": name, "description": name, "system_prompt": name}
            return {**about, "model": model, "tools": tools}

        opened.append(CodeInterpreterMiddleware(**options))
        agent = create_deep_agent(
            model=FakeModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")])),
            tools=[pay],
            subagents=[subagent("greeter", []), subagent("looker", [look])],
            middleware=[opened[-1]],
            checkpointer=InMemorySaver(),
        )
        agent.invoke({"messages": [("user", "go")]}, CONFIG)
        (asked,) = agent.get_state(CONFIG).interrupts
        return agent, asked.value["action_requests"][0]

    yield run
    for one in opened:
        one.close()


def resumed(agent: Agent, decision: dict[str, Any]) -> str:
    messages = agent.invoke(Command(resume={"decisions": [decision]}), CONFIG)["messages"]
    return str(next(message.text for message in messages if message.type == "tool"))


def edit(name: str, **args: Any) -> dict[str, Any]:
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


def test_the_question_has_the_schema_that_the_subagent_reads(paused: Any, read: list[Any]) -> None:
    seen: list[Any] = []

    def when(request: Any) -> bool:
        seen.append(request.tool_call["args"])
        return True

    rule = {"allowed_decisions": ["approve"], "when": when}
    agent, asked = paused(TYPED, interrupt_on={"task": rule})
    resumed(agent, {"type": "approve"})
    shown = asked["args"]["response_schema"]
    assert shown["description"] == "pay Eve"
    assert shown == seen[0]["response_schema"]
    assert shown in read


def test_a_subagent_without_a_schema_is_shown_without_one(paused: Any) -> None:
    _, asked = paused(GREETS, **ASKS)
    assert asked["args"] == {"description": "Greet", "subagent_type": "greeter"}


def test_an_edit_may_change_the_schema_and_remove_it(paused: Any, read: list[Any]) -> None:
    fields = {"description": "e", "subagent_type": "greeter"}
    agent, asked = paused(f"{TYPED}; a", **ASKS)
    assert "I am greeter" in resumed(agent, edit("task", **fields))
    assert asked["args"]["response_schema"] not in read
    changed = {"type": "object", "title": "t", "properties": {"m": {"type": "string"}}}
    agent, _ = paused(f"{TYPED}; a", **ASKS)
    resumed(agent, edit("task", **fields, response_schema=changed))
    assert changed in read


def test_an_edit_to_an_unfit_schema_is_refused(paused: Any) -> None:
    agent, asked = paused(f"{TYPED}; a", **ASKS)
    unfit = edit("task", **{**asked["args"], "response_schema": {"type": "array"}})
    with pytest.raises(ValueError, match='JSON Schema with type "object"'):
        resumed(agent, unfit)


def test_an_edit_to_another_tool_gives_code_the_value_of_that_tool(paused: Any) -> None:
    for code in (GREETS, f"{TYPED}; a"):
        agent, _ = paused(code, **ASKS)
        assert resumed(agent, edit("pay", to="Bob")) == "<result>paid Bob</result>"


def test_an_edit_may_name_a_subagent_that_can_only_be_awaited(paused: Any) -> None:
    fields = {"description": "e", "subagent_type": "looker"}
    agent, _ = paused(GREETS, **ASKS)
    assert resumed(agent, edit("task", **fields)) == "<result>I am looker</result>"
    agent, _ = paused("await tools.pay({to: 'Al'})", ptc=["pay"], interrupt_on={"pay": True})
    assert resumed(agent, edit("task", **fields)) == "<result>I am looker</result>"


def test_an_edit_to_an_unknown_subagent_is_an_error(paused: Any) -> None:
    agent, _ = paused("await tools.pay({to: 'Al'})", ptc=["pay"], interrupt_on={"pay": True})
    found = resumed(agent, edit("task", description="e", subagent_type="nobody"))
    assert found.startswith('<error type="ToolError">')
    assert "nobody" in found


def test_a_response_to_a_typed_task_is_read_as_json(paused: Any) -> None:
    agent, _ = paused(f"{TYPED}; a.n + 1", **ASKS)
    answer = {"type": "respond", "message": '{"n": 41}'}
    assert resumed(agent, answer) == "<result>42</result>"
    agent, _ = paused(f"{TYPED}; a", **ASKS)
    found = resumed(agent, {"type": "respond", "message": "no idea"})
    assert "the reviewer's answer is not JSON" in found
