"""An eval that ended, and whose step was cut short before its answer was in the graph.

The next run of the thread answers the eval from its record: no call is made again, and the answer
and the variables reach the graph once.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Annotated, Any

import attrs
import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.ui import AnyUIMessage, push_ui_message, ui_message_reducer
from langgraph.types import Command, interrupt
from scripted import Script, answers
from stores import STORES, Store

from interpstack_langchain import BackgroundOptions, CodeInterpreterMiddleware

CONFIG: Any = {"configurable": {"thread_id": "t"}}
#: On each checkpointer, the ways in which a step is cut short: a thread cannot be cancelled.
each = pytest.mark.parametrize(
    ("store", "end"),
    [(one, "raises") for one in STORES]
    + [(one, "cancelled") for one in STORES if one.endswith("async")],
    indirect=["store"],
)


def asked(*steps: Any) -> dict[str, Any]:
    return {"messages": [("user", json.dumps(steps))]}


class Audit(AgentMiddleware[Any, Any, Any]):
    """Cuts the step short once, when the given eval has ended.

    Attributes:
        at: The number of the eval, in the order in which evals end.
        cancel: Cancels the run, in place of an exception.
    """

    def __init__(self, at: int = 0, cancel: Callable[[], object] | None = None) -> None:
        super().__init__()
        self.at, self.cancel, self.ended = at, cancel, 0

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        answer = handler(request)
        if self._cuts(request):
            raise ConnectionError("audit")
        return answer

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        answer = await handler(request)
        if self._cuts(request):
            if self.cancel is None:
                raise ConnectionError("audit")
            self.cancel()
            await asyncio.sleep(5)
        return answer

    def _cuts(self, request: Any) -> bool:
        if request.tool_call["name"] != "eval":
            return False
        self.ended += 1
        return self.ended - 1 == self.at


@attrs.define
class Run:
    """An agent that pays, and the payments."""

    store: Any
    made: list[str] = attrs.field(factory=list)

    def agent(self, *around: Any, before: bool = True, more: Any = (), **options: Any) -> Any:
        """An agent of its own, as another process has, on the store."""

        @tool
        def pay(k: str) -> str:
            """Pay."""
            self.made.append(k)
            return f"paid {k}"

        tools: list[BaseTool] = [pay, *more]
        interpreter = CodeInterpreterMiddleware(ptc=[one.name for one in tools], **options)
        middleware = [*around, interpreter] if before else [interpreter, *around]
        return create_agent(Script(), tools=tools, middleware=middleware, checkpointer=self.store)

    async def cut_short(self, audit: Audit, given: Any, is_async: bool, **options: Any) -> None:
        """Begin a turn whose step is cut short."""
        agent = self.agent(audit, **options)
        if not is_async:
            with pytest.raises(ConnectionError):
                await asyncio.to_thread(agent.invoke, given, CONFIG)
            return
        running = asyncio.ensure_future(agent.ainvoke(given, CONFIG))
        if audit.cancel is not None:
            audit.cancel = running.cancel
        with pytest.raises((ConnectionError, asyncio.CancelledError)):
            await running

    async def goes_on(self, is_async: bool, given: Any = None) -> Any:
        """Run the thread to its end."""
        agent = self.agent()
        if is_async:
            return await agent.ainvoke(given, CONFIG)
        return await asyncio.to_thread(agent.invoke, given, CONFIG)


def kinds(result: Any) -> list[str]:
    return [message.type for message in result["messages"]]


PAYS = "globalThis.n = (globalThis.n ?? 0) + 1; [await tools.pay({k: '%s'}), n].join()"


@each
@pytest.mark.parametrize("before", [True, False], ids=["in front", "behind"])
async def test_an_answer_that_was_not_written_comes_from_the_record(
    store: Store, end: str, before: bool
) -> None:
    async with store.open() as saver:
        run = Run(saver)
        audit = Audit(cancel=None if end == "raises" else lambda: None)
        await run.cut_short(audit, asked(PAYS % "a", PAYS % "b"), store.is_async, before=before)
        assert run.made == ["a"]
        result = await run.goes_on(store.is_async)
    assert answers(result) == ["<result>paid a,1</result>", "<result>paid b,2</result>"]
    assert kinds(result) == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert run.made == ["a", "b"]


@each
@pytest.mark.parametrize("at", [0, 1], ids=["the first", "the second"])
async def test_evals_of_one_message_are_all_answered_once(store: Store, end: str, at: int) -> None:
    async with store.open() as saver:
        run = Run(saver)
        audit = Audit(at, None if end == "raises" else lambda: None)
        await run.cut_short(audit, asked([PAYS % "a", PAYS % "b"], "n"), store.is_async)
        result = await run.goes_on(store.is_async)
    expected = ["<result>paid a,1</result>", "<result>paid b,2</result>", "<result>2</result>"]
    assert answers(result) == expected
    assert kinds(result) == ["human", "ai", "tool", "tool", "ai", "tool", "ai"]
    assert run.made == ["a", "b"]


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_an_eval_starts_once_the_answers_before_it_are_written(is_async: bool) -> None:
    saver, begun = InMemorySaver(), list[str]()

    @tool
    async def begin(k: str) -> str:
        """Begin."""
        begun.append(k)
        return k

    class Slow(Audit):
        """Takes a while for the first eval, and then fails."""

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            answer = handler(request)
            if self._cuts(request):
                time.sleep(0.3)
                raise ConnectionError("audit")
            return answer

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            answer = await handler(request)
            if self._cuts(request):
                await asyncio.sleep(0.3)
                raise ConnectionError("audit")
            return answer

    run = Run(saver)
    code = "await tools.begin({k: '%s'})"
    await run.cut_short(Slow(), asked([code % "a", code % "b"]), is_async, more=[begin])
    assert begun == ["a"]


async def test_an_approved_call_is_made_once_although_its_answer_was_not_written() -> None:
    run = Run(InMemorySaver())
    options: Any = {"interrupt_on": {"pay": True}}
    agent = run.agent(Audit(), **options)
    await agent.ainvoke(asked("await tools.pay({k: 'a'})"), CONFIG)
    approve = Command(resume={"decisions": [{"type": "approve"}]})
    with pytest.raises(ConnectionError):
        await agent.ainvoke(approve, CONFIG)
    assert run.made == ["a"]
    result = await run.agent(**options).ainvoke(None, CONFIG)
    assert answers(result) == ["<result>paid a</result>"]
    assert run.made == ["a"]


async def test_an_eval_of_a_subagent_is_answered_from_its_record() -> None:
    run, inner = Run(InMemorySaver()), Run(None)
    cancelled = asyncio.Event()
    audits = [Audit(cancel=cancelled.set)]

    def outer() -> Any:
        sub = inner.agent(*audits)

        @tool
        async def delegate() -> str:
            """Delegate."""
            (answer,) = answers(await sub.ainvoke(asked(PAYS % "a")))
            return answer.removeprefix("<result>").removesuffix("</result>")

        return run.agent(more=[delegate])

    code = "(await tools.delegate({})) + await tools.pay({k: 'outer'})"
    running = asyncio.ensure_future(outer().ainvoke(asked(code), CONFIG))
    await cancelled.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    audits.clear()
    result = await outer().ainvoke(None, CONFIG)
    assert answers(result) == ["<result>paid a,1paid outer</result>"]
    assert (inner.made, run.made) == (["a"], ["outer"])


async def test_a_cell_in_the_background_ends_once_although_its_answer_was_not_written() -> None:
    run, release = Run(InMemorySaver()), asyncio.Event()

    @tool
    async def slow(k: str) -> str:
        """Work slowly."""
        await release.wait()
        run.made.append(k)
        return f"did {k}"

    class Waiting(Script):
        """Waits for the code that is still running."""

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            reply = super()._generate(messages, *args, **kwargs)
            message, last = reply.generations[0].message, messages[-1]
            if isinstance(last, ToolMessage) and "<running id=" in last.text:
                cell = last.text.partition('<running id="')[2].partition('"')[0]
                release.set()
                call = {"name": "wait", "args": {"id": cell}, "id": "w", "type": "tool_call"}
                message.tool_calls = [call]
            return reply

    class Once(Audit):
        def _cuts(self, request: Any) -> bool:
            self.ended += request.tool_call["name"] == "wait"
            return self.ended == 1 and request.tool_call["name"] == "wait"

    interpreter = CodeInterpreterMiddleware(
        ptc=["slow"], background=BackgroundOptions(yield_after=0.05)
    )
    agent = create_agent(
        Waiting(),
        tools=[slow],
        middleware=[Once(), interpreter],
        checkpointer=run.store,
    )
    with pytest.raises(ConnectionError):
        await agent.ainvoke(asked("await tools.slow({k: 'a'})"), CONFIG)
    result = await agent.ainvoke(None, CONFIG)
    assert answers(result)[-1] == "<result>did a</result>"
    assert run.made == ["a"]


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_middleware_may_run_its_handler_inside_a_runnable(is_async: bool) -> None:
    class Retrying(AgentMiddleware[Any, Any, Any]):
        """Runs each tool call in a runnable, whose configuration is a copy of the node's."""

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return RunnableLambda(lambda given: handler(request)).with_retry().invoke(None)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            async def run(given: Any) -> Any:
                return await handler(request)

            return await RunnableLambda(run).with_retry().ainvoke(None)

    run = Run(InMemorySaver())
    agent = run.agent(Retrying())
    given = asked(PAYS % "a")
    if is_async:
        await agent.ainvoke(given, CONFIG)
    else:
        await asyncio.to_thread(agent.invoke, given, CONFIG)
    result = await run.goes_on(is_async, asked("n"))
    assert answers(result)[-1] == "<result>1</result>"


async def test_variables_reach_the_graph_where_events_are_streamed() -> None:
    run = Run(InMemorySaver())
    async for _ in run.agent().astream_events(asked(PAYS % "a"), CONFIG, version="v2"):
        pass
    result = await run.goes_on(True, asked("n"))
    assert answers(result)[-1] == "<result>1</result>"


class Shown(AgentState[Any]):
    ui: Annotated[list[AnyUIMessage], ui_message_reducer]


@pytest.mark.parametrize("end", ["cancelled", "paused"])
async def test_what_a_tool_pushes_to_the_graph_goes_with_the_answer(end: str) -> None:
    """LangGraph writes it at once, and would take the task of a cancelled eval for finished."""
    begun: list[str] = []

    @tool
    async def show(k: str) -> str:
        """Show something."""
        begun.append(k)
        push_ui_message("chart", {"k": k})
        return k

    @tool
    async def work() -> str:
        """Work."""
        begun.append("work")
        if end == "paused":
            push_ui_message("chart", {"k": "asked"})
            return str(interrupt("?"))
        if begun.count("work") == 1:
            running.cancel()
            await asyncio.sleep(5)
        return "worked"

    agent = create_agent(
        Script(),
        tools=[show, work],
        middleware=[CodeInterpreterMiddleware(ptc=["show", "work"])],
        checkpointer=InMemorySaver(),
        state_schema=Shown,
    )
    code = "await tools.show({k: 'a'}); await tools.work({})"
    running = asyncio.ensure_future(agent.ainvoke(asked(code), CONFIG))
    if end == "paused":
        assert not (await running)["ui"]
        result = await agent.ainvoke(Command(resume="worked"), CONFIG)
    else:
        with pytest.raises(asyncio.CancelledError):
            await running
        result = await agent.ainvoke(None, CONFIG)
    assert answers(result) == ["<result>worked</result>"]
    assert begun == ["a", "work", "work"]
    shown = ["a", "asked"] if end == "paused" else ["a"]
    assert [one["props"]["k"] for one in result["ui"]] == shown
