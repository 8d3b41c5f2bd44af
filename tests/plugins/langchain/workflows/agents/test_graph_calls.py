"""Calls of graphs begin, continue and pause."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypedDict

import attrs
import pytest
from agent_graphs import Acting
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from workflow_runs import MemoryRuns

from interpstack_langchain.workflows import LangChainAgent
from interpstack_langchain.workflows.agents.graph_calls import takes_messages
from interpstack_workflows.api import (
    AgentCall,
    AgentFailed,
    AgentPaused,
    WorkflowStore,
    WorkflowUsage,
    open_store,
)


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[WorkflowStore]:
    """A store of runs that keeps the state of agents, too."""
    if request.param == "memory":
        yield MemoryRuns()
        return
    store = open_store(str(tmp_path / "runs.db"))
    yield store
    await store.aclose()


def _call(store: WorkflowStore | None, **given: Any) -> AgentCall:
    return AgentCall(**{"prompt": "go", "key": "run_1/root/sig_1", "store": store, **given})


class _Tools:
    """Tools that note what they did; one asks twice in the same words, one fails once."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.broken = True

    def asks(self, what: str) -> str:
        """Ask twice."""
        first = interrupt({"sure": what})
        self.done.append(("begun", first))
        second = interrupt({"sure": what})
        self.done.append((what, first, second))
        return "asked"

    async def notes(self, what: str) -> str:
        """Note something."""
        self.done.append(what)
        return f"noted {what}"

    async def fails(self, what: str) -> str:
        """Fail once, after the calls beside it have ended: LangGraph cancels those that run on."""
        if self.broken:
            self.broken = False
            for _ in range(200):
                await asyncio.sleep(0)
            raise OSError("the disk is full")
        return await self.notes(what)


async def test_an_attempt_after_a_failed_tool_repeats_none_that_ended(store: WorkflowStore) -> None:
    tools = _Tools()
    turns = [[("notes", {"what": "a"})], [("notes", {"what": "b"}), ("fails", {"what": "c"})]]
    agent = LangChainAgent(create_agent(Acting(turns=turns), [tools.notes, tools.fails]))
    with pytest.raises(AgentFailed, match="the disk is full") as raised:
        await agent.run(_call(store))
    assert type(raised.value.__cause__) is OSError
    assert raised.value.usage == WorkflowUsage(input_tokens=20, output_tokens=10)
    answer = await agent.run(_call(store, attempt=2))
    assert tools.done == ["a", "b", "c"]
    assert answer.usage == WorkflowUsage(input_tokens=10, output_tokens=5), (
        "two calls are not repeated"
    )


async def test_an_attempt_after_a_failed_model_goes_on_where_it_was(store: WorkflowStore) -> None:
    tools, model = _Tools(), Acting(turns=[[("notes", {"what": "a"})]])
    agent = LangChainAgent(create_agent(model, [tools.notes]))
    model.failing[:] = ["", "down"]
    with pytest.raises(AgentFailed, match="down"):
        await agent.run(_call(store))
    assert tools.done == ["a"]
    answer = await agent.run(_call(store, attempt=2))
    assert answer.value == "answer to go"
    assert tools.done == ["a"]


async def test_an_agent_that_has_ended_only_returns_its_answer(tmp_path: Path) -> None:
    model, store = Acting(), open_store(str(tmp_path / "runs.db"))
    agent = LangChainAgent(create_agent(model, []))
    first = await agent.run(_call(store))
    again = await agent.run(_call(store))
    assert (first.value, again.value) == ("answer to go", "answer to go")
    assert (first.usage.tokens, again.usage.tokens) == (15, 0)
    assert first.session_id == again.session_id == "workflow:run_1/root/sig_1"
    other = await agent.run(_call(store, key="run_1/root/sig_2"))
    assert other.usage.tokens == 15
    await store.aclose()


async def test_an_agent_that_ended_without_an_answer_is_asked_again(store: WorkflowStore) -> None:
    said: list[Any] = [[], [("ai", "an answer")]]
    agent = LangChainAgent(_one_node(lambda state: {"messages": said.pop(0)}))
    with pytest.raises(AgentFailed, match="ended without a message of its model"):
        await agent.run(_call(store))
    assert (await agent.run(_call(store))).value == "an answer"


async def test_a_wrong_argument_after_a_decision_is_no_wrong_decision(store: WorkflowStore) -> None:
    from pydantic import BaseModel

    class Strict(BaseModel):
        number: int

    def node(state: Any) -> Any:
        interrupt("sure?")
        Strict.model_validate({"number": "many"})

    agent = LangChainAgent(_one_node(node))
    with pytest.raises(AgentPaused) as raised:
        await agent.run(_call(store))
    (asked,) = raised.value.approvals
    with pytest.raises(AgentFailed, match="valid integer"):
        await agent.run(_call(store, decisions={asked["id"]: "yes"}))


async def test_a_correction_goes_on_with_the_conversation(store: WorkflowStore) -> None:
    model = Acting()
    agent = LangChainAgent(create_agent(model, []))
    schema = {"type": "object"}
    await agent.run(_call(store, schema=schema))
    corrected = _call(store, schema=schema, prompt="go, and again", correction=True)
    for _ in range(2):  # the second time after a crash
        answer = await agent.run(corrected)
        assert answer.value == "answer to go, and again"
    assert [len(messages) for messages in model.seen] == [1, 3]
    second = await agent.run(_call(store, schema=schema, attempt=2))
    assert second.value.startswith("answer to go\n\nAnswer with JSON")
    assert len(model.seen[-1]) == 5


async def test_decisions_are_taken_one_at_a_time(store: WorkflowStore) -> None:
    tools = _Tools()
    agent = LangChainAgent(create_agent(Acting(turns=[[("asks", {"what": "x"})]]), [tools.asks]))
    with pytest.raises(AgentPaused) as raised:
        await agent.run(_call(store))
    (first,) = raised.value.approvals
    assert first["value"] == {"sure": "x"}
    assert raised.value.usage == WorkflowUsage(input_tokens=10, output_tokens=5)
    with pytest.raises(AgentPaused) as raised:  # nobody has decided yet
        await agent.run(_call(store))
    assert raised.value.approvals == (first,)
    assert raised.value.usage == WorkflowUsage()
    with pytest.raises(AgentPaused) as raised:
        await agent.run(_call(store, decisions={first["id"]: "one"}))
    (second,) = raised.value.approvals
    assert second["id"] != first["id"]
    assert second["value"] == first["value"]
    with pytest.raises(AgentPaused) as raised:  # the run was left before it stored the pause
        await agent.run(_call(store, decisions={first["id"]: "one"}))
    assert raised.value.approvals == (second,), "the first answer is none to the second question"
    answer = await agent.run(_call(store, decisions={second["id"]: "two"}))
    assert tools.done == [("begun", "one"), ("begun", "one"), ("x", "one", "two")]
    assert answer.value == "answer to go"


async def test_a_graph_that_checks_decisions_itself_asks_again(store: WorkflowStore) -> None:
    from pydantic import BaseModel

    class Sure(BaseModel):
        sure: bool

    def node(state: Any) -> Any:
        found = interrupt("sure?", response_schema=Sure)
        return {"messages": [("ai", f"it is {found.sure}")]}

    if "response_schema" not in inspect.signature(interrupt).parameters:
        pytest.skip("this release of LangGraph has no schemas of answers")
    agent = LangChainAgent(_one_node(node))
    with pytest.raises(AgentPaused) as raised:
        await agent.run(_call(store))
    (asked,) = raised.value.approvals
    with pytest.raises(AgentPaused) as raised:
        await agent.run(_call(store, decisions={asked["id"]: {"sure": "perhaps"}}))
    (again,) = raised.value.approvals
    assert "valid boolean" in again["fault"]
    answer = await agent.run(_call(store, decisions={again["id"]: {"sure": True}}))
    assert answer.value == "it is True"


def _one_node(node: Any, **options: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(**options)


async def test_without_a_checkpointer_nobody_is_asked() -> None:
    tools = _Tools()
    turns = [[("notes", {"what": "a"})], [("asks", {"what": "x"})]]
    graph = create_agent(Acting(turns=turns), [tools.asks, tools.notes])
    with pytest.raises(AgentFailed, match="nothing keeps its state while it waits") as raised:
        await LangChainAgent(graph).run(_call(None))
    assert raised.value.final, "another attempt would repeat what it did"
    assert raised.value.usage.tokens == 30
    assert tools.done == ["a"]


@pytest.mark.parametrize("own", [InMemorySaver, lambda: None])
async def test_a_decision_for_a_removed_state_does_nothing(own: Any) -> None:
    tools = _Tools()
    graph = create_agent(
        Acting(turns=[[("asks", {"what": "x"})]]), [tools.asks], checkpointer=own()
    )
    with pytest.raises(AgentFailed, match="the agent's state no longer exists") as raised:
        await LangChainAgent(graph).run(_call(None, decisions={"x": "yes"}))
    assert raised.value.final
    assert tools.done == []


async def test_graphs_of_the_functional_api_get_the_prompt(store: WorkflowStore) -> None:
    @entrypoint()
    async def flow(prompt: str) -> Any:
        return {"prompt": prompt, "said": interrupt("go on?")}

    assert not takes_messages(flow)
    agent = LangChainAgent(flow)
    with pytest.raises(AgentPaused) as raised:
        await agent.run(_call(store))
    (asked,) = raised.value.approvals
    answer = await agent.run(_call(store, decisions={asked["id"]: "yes"}))
    assert answer.value == {"prompt": "go", "said": "yes"}


async def test_a_graph_is_stopped_with_its_call(store: WorkflowStore) -> None:
    stopped = asyncio.Event()
    begun = asyncio.Event()

    async def node(state: Any) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    task = asyncio.create_task(LangChainAgent(_one_node(node)).run(_call(store)))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped.is_set()


async def test_a_state_that_cannot_be_stored_says_so(store: WorkflowStore) -> None:
    class State(MessagesState):
        odd: Any

    def node(state: Any) -> Any:
        return {"odd": (one for one in ()), "messages": [("ai", "done")]}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    if not isinstance(store, MemoryRuns):
        with pytest.raises(AgentFailed, match="generator"):
            await LangChainAgent(builder.compile()).run(_call(store))
    free = await LangChainAgent(builder.compile(checkpointer=False)).run(_call(store))
    assert free.value == "done"


class _Dicts(TypedDict):
    messages: list[Any]


async def test_messages_need_no_reducer() -> None:
    builder = StateGraph(_Dicts)
    builder.add_node("node", lambda state: {"messages": [*state["messages"], Acting().invoke("x")]})
    builder.add_edge(START, "node")
    answer = await LangChainAgent(builder.compile()).run(_call(MemoryRuns()))
    assert answer.value == "answer to x"


async def test_the_progress_of_a_graph_is_reported() -> None:
    tools, events = _Tools(), list[Any]()
    graph = create_agent(Acting(turns=[[("notes", {"what": "a"})]]), [tools.notes])
    call = attrs.evolve(_call(MemoryRuns()), emit=events.append)
    await LangChainAgent(graph).run(call)
    assert [one["type"] for one in events] == ["tool_call", "tool_result", "message"]
