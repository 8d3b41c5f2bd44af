"""An eval's answer is a plain message for everything around it; its state goes another way."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import AgentState
from langchain.agents.middleware import AgentMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langchain_core.tracers import BaseTracer, Run
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from interpstack_accounts.api import Budget
from interpstack_langchain.langgraph_internals.task_writes import TaskWrites

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
modes = pytest.mark.parametrize("mode", ["thread", "turn", "call"])


class Notes(AgentState[Any]):
    notes: str
    marks: Annotated[list[str], operator.add]


class Outer(AgentMiddleware[Any, Any, Any]):
    """Sees the answers of evals, and may change their text."""

    state_schema = Notes

    def __init__(self, change: str = "") -> None:
        super().__init__()
        self.change = change
        self.seen: list[Any] = []

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return self._changed(request, handler(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return self._changed(request, await handler(request))

    def _changed(self, request: Any, answer: Any) -> Any:
        if request.tool_call["name"] != "eval":
            return answer
        self.seen.append(answer)
        if not self.change:
            return answer
        return answer.model_copy(update={"content": f"{self.change} {answer.text}"})


class Traces(BaseCallbackHandler):
    """Keeps what the ends of tools tell."""

    def __init__(self) -> None:
        self.tools: list[Any] = []

    def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        self.tools.append(output)


class Tracer(BaseTracer):
    """Keeps all spans."""

    def __init__(self) -> None:
        super().__init__()
        self.spans: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self._add(run)

    def _add(self, run: Run) -> None:
        self.spans.append(run)
        for child in run.child_runs:
            self._add(child)


@tool
def mark(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Mark."""
    messages = [ToolMessage(f"did {text}", tool_call_id=call_id), HumanMessage(f"after {text}")]
    return Command(update={"notes": text, "marks": [text], "messages": messages})


@tool
def count(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Mark, and add no message."""
    return Command(update={"marks": [text], "messages": [ToolMessage("", tool_call_id=call_id)]})


def kinds(result: Any) -> list[str]:
    return [message.type for message in result["messages"]]


@both
@modes
@pytest.mark.parametrize("budget", [None, Budget(requests=9)], ids=["plain", "budget"])
async def test_middleware_around_an_eval_gets_a_message(
    talk: Any, use_async: bool, mode: str, budget: Any
) -> None:
    outer, traces = Outer(), Traces()
    chat = talk(before=[outer], ptc=[mark], mode=mode, budget=budget)
    config = {"configurable": {"thread_id": "t"}, "callbacks": [traces]}
    await chat.turn("const x = 'y'.repeat(9); 1", "await tools.mark({text: 'a'})", config=config)
    assert [type(answer) for answer in outer.seen] == [ToolMessage, ToolMessage]
    evals = [one for one in traces.tools if getattr(one, "name", "") == "eval"]
    assert [type(one) for one in evals] == [ToolMessage, ToolMessage]
    expected = "undefined" if mode == "call" else "9"
    later = "typeof x === 'undefined' ? 'undefined' : x.length"
    if mode != "turn":
        assert await chat.run(later) == [f"<result>{expected}</result>"]


async def test_spans_do_not_carry_the_state(talk: Any) -> None:
    tracer = Tracer()
    chat = talk(before=[Outer()])
    config = {"configurable": {"thread_id": "t"}, "callbacks": [tracer]}
    for _ in range(2):
        await chat.turn("const x = 'y'.repeat(9)", config=config)
    name = "CodeInterpreterMiddleware."
    hooks = [span for span in tracer.spans if span.name.startswith(name)]
    assert {span.name for span in hooks} == {f"{name}before_agent", f"{name}after_agent"}
    assert all(span.inputs == {} for span in hooks)
    evals = [span for span in tracer.spans if span.name == "eval"]
    assert [type(span.outputs["output"]) for span in evals if span.outputs] == [ToolMessage] * 2


@both
async def test_a_state_is_stored_in_the_step_of_its_message(talk: Any, use_async: bool) -> None:
    saver = InMemorySaver()
    chat = talk(checkpointer=saver, before=[Outer()], ptc=[mark])
    config = {"configurable": {"thread_id": "t"}}
    await chat.turn("const kept = await tools.mark({text: 'a'})")
    history = list(reversed(list(chat.agent.get_state_history(config))))
    first = next(one for one in history if any(m.type == "tool" for m in one.values["messages"]))
    assert first.values["notes"] == "a"
    assert len(first.values["interpreter_record"]) == 1
    before = history[history.index(first) - 1]
    (step,) = [one for one in before.tasks if one.name == "tools"]
    assert step.result is None or "messages" in step.result
    chat.middleware._interpreter.evals.sessions._known.clear()  # as in another process
    assert await chat.run("kept") == ["<result>did a</result>"]


@both
async def test_messages_of_tools_stand_behind_the_answer(talk: Any, use_async: bool) -> None:
    outer = Outer("seen:")
    chat = talk(before=[outer], ptc=[mark])
    result = await chat.turn("[await tools.mark({text: 'a'}), await tools.mark({text: 'b'})]")
    assert kinds(result) == ["human", "ai", "tool", "human", "human", "ai"]
    assert [type(answer) for answer in outer.seen] == [ToolMessage]
    (answer,) = [m for m in result["messages"] if m.type == "tool"]
    assert answer.text == 'seen: <result>["did a", "did b"]</result>'
    assert (result["notes"], result["marks"]) == ("b", ["a", "b"])


@both
async def test_evals_of_one_message_write_side_by_side(
    talk: Any, evals: Any, use_async: bool
) -> None:
    chat = talk(before=[Outer()], ptc=[count])
    code = "await tools.count({text: '%s'}); globalThis.n = (globalThis.n ?? 0) + 1"
    result = await chat.turn(evals(code % "a", code % "b"))
    assert sorted(result["marks"]) == ["a", "b"]
    assert await chat.run("n") == ["<result>2</result>"]


async def test_updates_wait_for_the_end_of_a_paused_eval(talk: Any) -> None:
    @tool
    def ask() -> str:
        """Ask."""
        return str(interrupt("?"))

    chat = talk(before=[Outer()], ptc=[mark, ask])
    config = {"configurable": {"thread_id": "t"}}
    paused = await chat.turn("await tools.mark({text: 'a'}); await tools.ask()")
    assert "notes" not in paused

    result = await chat.agent.ainvoke(Command(resume="yes"), config)
    assert (result["notes"], result["marks"]) == ("a", ["a"])
    assert kinds(result) == ["human", "ai", "tool", "human", "ai"]


class Parent(TypedDict, total=False):
    messages: list[Any]
    went: str


@both
async def test_a_command_for_another_graph_leaves_beside_the_answer(
    talk: Any, use_async: bool
) -> None:
    @tool
    def hand_over() -> Command[Any]:
        """Go on in the outer graph."""
        return Command(graph=Command.PARENT, update={"went": "over"}, goto="other")

    traces = Traces()
    chat = talk(ptc=[hand_over], checkpointer=None)
    chat.say([])
    graph = StateGraph(Parent)
    graph.add_node("agent", chat.agent, destinations=("other",))
    graph.add_node("other", lambda state: {"went": f"{state['went']} and on"})
    graph.add_edge(START, "agent")
    graph.add_edge("other", END)
    built = graph.compile(checkpointer=InMemorySaver())
    inner, chat.agent = chat.agent, built
    config = {"configurable": {"thread_id": "t"}, "callbacks": [traces]}
    result = await chat.turn("await tools.handOver(); 1", config=config)
    assert result["went"] == "over and on"
    assert [type(one) for one in traces.tools if getattr(one, "name", "") == "eval"] == [
        ToolMessage
    ]
    assert inner is not built


class Plain(TypedDict, total=False):
    total: Annotated[int, operator.add]
    went: str


@pytest.mark.parametrize("target", ["other", END])
def test_a_task_writes_as_if_its_node_had_returned_a_command(target: str) -> None:
    def first(state: Plain) -> dict[str, Any]:
        writes = TaskWrites.of(get_config())
        assert writes is not None
        assert set(writes.reducers()) == {"total"}
        writes.write(Command(update={"total": 2, "unknown": 1}, goto=target))
        return {"total": 1}

    graph = StateGraph(Plain)
    graph.add_node("first", first, destinations=("other",))
    graph.add_node("other", lambda state: {"went": "other"})
    graph.add_edge(START, "first")
    result = graph.compile().invoke({})
    assert result == {"total": 3, **({"went": "other"} if target == "other" else {})}


def test_outside_a_graph_nothing_is_written() -> None:
    assert TaskWrites.of({}) is None


@both
@pytest.mark.parametrize("code", ["null.x", "await tools.mark(3)", "nope ="])
async def test_answers_of_failed_evals_say_so(talk: Any, code: str, use_async: bool) -> None:
    chat = talk(ptc=[mark])
    result = await chat.turn("1", code)
    answers = [m.status for m in result["messages"] if isinstance(m, ToolMessage)]
    assert answers == ["success", "error"]


async def test_reducers_are_looked_up_for_updates_of_tools_alone(
    talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[TaskWrites] = []
    reducers = TaskWrites.reducers
    monkeypatch.setattr(TaskWrites, "reducers", lambda self: looks.append(self) or reducers(self))
    chat = talk(before=[Outer()], ptc=[mark])
    await chat.turn("const x = 1")
    assert not looks
    await chat.turn("await tools.mark({text: 'a'})")
    assert len(looks) == 1
