"""Subagents that code dispatches through the agent's `task` tool."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from graph_tasks import cell_context, tool_request
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, tool
from langgraph.types import Command

from interpstack import GuestException
from interpstack_langchain.evals.call_names import SiblingCalls
from interpstack_langchain.evals.eval_call import EvalCall
from interpstack_langchain.tools.subagents import dispatcher
from interpstack_subagents.api import Dispatch

WANTED = Dispatch(description="Find the largest.  " * 20, subagent_type="general")


CallId = Annotated[str, InjectedToolCallId]


def said(text: str, call_id: str) -> Command[Any]:
    """The answer of the `task` tool: a command with the subagent's last message."""
    return Command(update={"messages": [ToolMessage(text, tool_call_id=call_id)]})


def task_tool(answer: str, *, plain: bool = False) -> BaseTool:
    """A tool as deepagents' `task`, which answers with plain text only what it refuses."""
    subagent_graphs = {"general": RunnableLambda(lambda given: given)}

    def task(description: str, subagent_type: str, call_id: CallId) -> Any:
        assert subagent_graphs  # as deepagents' tool does, it keeps the subagents
        return answer if plain else said(answer, call_id)

    return StructuredTool.from_function(task, name="task", description="Dispatch.")


class Eval:
    """A running eval whose calls go straight to their tools."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        request = tool_request(stream_writer=self.events.append)
        self.running = EvalCall(request, SiblingCalls.of(request), self.run)
        self.configs: list[Any] = []

    async def run(self, request: Any) -> Any:
        self.configs.append(request.runtime.config)
        return await request.tool.ainvoke(request.tool_call, request.runtime.config)

    async def dispatch(self, task: BaseTool, wanted: Dispatch = WANTED) -> Any:
        made = dispatcher(task)
        assert made is not None
        return await made(wanted, cell_context(host=self.running))


async def test_the_answer_is_the_last_message() -> None:
    found = Eval()
    assert await found.dispatch(task_tool("file 7")) == "file 7"


def test_another_tool_of_that_name_dispatches_nothing() -> None:
    @tool("task")
    def todo(title: str) -> str:
        """Add a task."""
        return title

    assert dispatcher(todo) is None


async def test_start_and_end_are_reported_with_short_texts() -> None:
    found = Eval()
    await found.dispatch(task_tool("done"))
    start, end = found.events
    assert start["id"] == end["id"] == "a:1"
    assert (start["phase"], end["phase"]) == ("start", "complete")
    assert start["subagent_type"] == "general"
    assert (len(start["description"]), len(start["label"])) == (200, 60)


@pytest.mark.parametrize(
    ("label", "shown"), [("  one\n two ", "one two"), ("x" * 200, "x" * 120), (" ", "Find it")]
)
async def test_labels_are_one_line_of_bounded_length(label: str, shown: str) -> None:
    found = Eval()
    wanted = Dispatch(description="Find  it", subagent_type="general", label=label)
    await found.dispatch(task_tool("done"), wanted)
    assert found.events[0]["label"] == shown


SCHEMA = {"type": "object", "title": "n", "properties": {"n": {"type": "number"}}}


async def test_with_a_schema_the_answer_is_parsed_and_the_subagent_knows_it() -> None:
    found = Eval()
    wanted = Dispatch(description="Count", subagent_type="general", response_schema=SCHEMA)
    assert await found.dispatch(task_tool('{"n": 5}'), wanted) == {"n": 5}
    assert SCHEMA in found.configs[0]["configurable"].values()
    await found.dispatch(task_tool("5"))
    assert SCHEMA not in found.configs[1].get("configurable", {}).values()


async def test_an_answer_that_is_not_json_fails_with_a_schema() -> None:
    wanted = Dispatch(description="Count", subagent_type="general", response_schema=SCHEMA)
    with pytest.raises(GuestException, match="the subagent's answer is not JSON"):
        await Eval().dispatch(task_tool("five"), wanted)


async def test_plain_text_of_the_tool_is_a_refusal() -> None:
    found = Eval()
    with pytest.raises(GuestException, match="no such subagent"):
        await found.dispatch(task_tool("no such subagent", plain=True))
    assert found.events[-1]["phase"] == "error"


def own_task(description: str, subagent_type: str) -> str:
    """Dispatch."""
    return '{"n": 5}' if "Count" in description else f"{subagent_type} is done"


async def test_plain_text_of_an_own_task_tool_is_the_answer() -> None:
    found, own = Eval(), StructuredTool.from_function(own_task, name="task")
    assert await found.dispatch(own) == "general is done"
    assert found.events[-1]["phase"] == "complete"
    wanted = Dispatch(description="Count", subagent_type="general", response_schema=SCHEMA)
    assert await found.dispatch(own, wanted) == {"n": 5}


@pytest.mark.parametrize(("kind", "form"), [("general", "blocking"), ("waits", "awaited")])
async def test_a_subagent_that_can_only_be_awaited_is_awaited(kind: str, form: str) -> None:
    async def later(given: Any) -> Any:
        return given

    subagent_graphs = {"waits": RunnableLambda(later), "general": RunnableLambda(lambda given: 1)}

    def task(description: str, subagent_type: str, call_id: CallId) -> Any:
        """Dispatch."""
        assert subagent_graphs
        return said("blocking", call_id)

    async def atask(description: str, subagent_type: str, call_id: CallId) -> Any:
        """Dispatch."""
        return said("awaited", call_id)

    class Blocking(Eval):
        async def run(self, request: Any) -> Any:
            return await asyncio.to_thread(request.tool.invoke, request.tool_call)

    made = StructuredTool.from_function(task, coroutine=atask, name="task")
    wanted = Dispatch(description="Go", subagent_type=kind)
    assert await Blocking().dispatch(made, wanted) == form
