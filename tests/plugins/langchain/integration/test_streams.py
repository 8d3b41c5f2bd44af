"""Streams of an agent, with the agents and tools that its code runs."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.types import Command, interrupt
from scripted import Script

from interpstack_langchain import CodeInterpreterMiddleware

CONFIG: Any = {"configurable": {"thread_id": "t"}}
BOTH = """
const both = ['x', 'y'].map(description => task({description, subagentType: 'worker'}));
(await Promise.all(both)).join()
"""
beta = pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
savers = pytest.mark.parametrize("saver", [None, "memory"], ids=["without a saver", "saver"])


def asked(code: str) -> Any:
    return {"messages": [("user", f'["{" ".join(code.split())}"]')]}


def deep(worker: Any, saver: Any) -> Any:
    return create_deep_agent(
        model=Script(),
        middleware=[CodeInterpreterMiddleware()],
        subagents=[{"name": "worker", "description": "Works.", "runnable": worker}],
        checkpointer=saver and InMemorySaver(),
    )


@tool
def report(text: str) -> str:
    """Report progress."""
    get_stream_writer()({"progress": text})
    return text


@beta
async def test_each_subagent_of_code_has_a_handle_with_its_cause_and_its_messages() -> None:
    agent = deep(create_agent(Script()), saver=True)
    run = await agent.astream_events(asked(BOTH), CONFIG, version="v3")

    async def look(found: Any) -> tuple[Any, ...]:
        heard = [str(await message.text) async for message in found.messages]
        return found.name, found.status, len(found.path), found.cause["type"], heard

    looks = [asyncio.ensure_future(look(found)) async for found in run.subagents]
    seen = sorted(await asyncio.gather(*looks), key=str)
    expected = ("worker", "completed", 1, "toolCall")
    assert seen == [(*expected, ["heard: x"]), (*expected, ["heard: y"])]


@beta
async def test_a_subagent_of_code_that_waits_is_shown_as_interrupted() -> None:
    @tool
    def ask() -> str:
        """Ask."""
        return str(interrupt("sure?"))

    # The worker's model runs code of its own, in an interpreter that the worker has.
    worker = create_agent(Script(), middleware=[CodeInterpreterMiddleware(ptc=[ask])])
    agent = deep(worker, saver=True)
    code = (
        "await task({description: JSON.stringify(['await tools.ask()']), subagentType: 'worker'})"
    )
    run = await agent.astream_events(asked(code), CONFIG, version="v3")
    found = [one async for one in run.subagents]
    await run.output()
    assert [(one.name, one.status) for one in found] == [("worker", "interrupted")]
    assert [one.value for one in (await agent.aget_state(CONFIG)).interrupts] == ["sure?"]


@savers
def test_events_of_a_tool_belong_to_the_graph_of_the_agent(saver: Any) -> None:
    interpreter = CodeInterpreterMiddleware(ptc=[report], tool_events=False)
    agent = create_agent(Script(), middleware=[interpreter], checkpointer=saver and InMemorySaver())
    given = asked("await tools.report({text: 'half'})")
    events = agent.stream(given, CONFIG, stream_mode="custom", subgraphs=True)
    assert list(events) == [((), {"progress": "half"})]


@savers
def test_messages_of_a_subagent_are_one_level_below_the_agent(saver: Any) -> None:
    agent = deep(create_agent(Script()), saver)
    code = "await task({description: 'x', subagentType: 'worker'})"
    parts = agent.stream(asked(code), CONFIG, stream_mode="messages", subgraphs=True)
    places = [place for place, (message, _) in parts if message.text == "heard: x"]
    (place,) = places
    assert len(place) == 1
    assert place[0].startswith("tools:")


@savers
def test_a_subagent_of_code_hands_over_to_the_agent(saver: Any) -> None:
    @tool
    def hand_over(call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Hand over."""
        said = ToolMessage("handed over", tool_call_id=call)
        return Command(graph=Command.PARENT, goto="model", update={"messages": [said]})

    worker = create_agent(Script(tool="hand_over"), tools=[hand_over])
    code = "await task({description: JSON.stringify(['']), subagentType: 'worker'})"
    found = deep(worker, saver).invoke(asked(code), CONFIG)["messages"]
    assert [message.text for message in found][-2:] == ["handed over", "done"]
