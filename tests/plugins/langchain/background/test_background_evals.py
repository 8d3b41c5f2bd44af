"""Agents whose evals are suspended while they wait, and continued by later calls of the model."""

from __future__ import annotations

import asyncio
import operator
import re
import threading
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any, Final

import attrs
import pytest
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from interpstack import ConfigurationError
from interpstack_accounts.api import Budget
from interpstack_langchain import BackgroundOptions
from interpstack_langchain.background import cell_locks
from interpstack_langchain.durability import databases

CONFIG: Final[Any] = {"configurable": {"thread_id": "t"}}
both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])

TWO = (
    "console.log('begun'); const a = await tools.slow({n: 1}); console.log('half');"
    "const b = await tools.slow({n: 2}); var sum = Number(a) + Number(b); sum"
)


@attrs.define(eq=False)
class Bank:
    """Tools that count what they do.

    Attributes:
        begun: Inputs of the calls of `slow`, in order.
        ended: Inputs of the calls of `slow` that ended.
        paid: The number of payments.
    """

    begun: list[int] = attrs.field(factory=list)
    ended: list[int] = attrs.field(factory=list)
    cancelled: list[int] = attrs.field(factory=list)
    paid: int = 0
    _go: dict[int, threading.Event] = attrs.field(factory=dict)

    def gate(self, n: int) -> threading.Event:
        return self._go.setdefault(n, threading.Event())

    @property
    def tools(self) -> list[Any]:
        @tool
        async def slow(n: int) -> str:
            """Take long."""
            self.begun.append(n)
            try:
                while not self.gate(n).is_set():  # noqa: ASYNC110 - set from anywhere
                    await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                self.cancelled.append(n)
                raise
            self.ended.append(n)
            return str(n)

        @tool
        def pay() -> str:
            """Pay."""
            self.paid += 1
            return "paid"

        return [slow, pay]


@pytest.fixture
def bank() -> Any:
    bank = Bank()
    yield bank
    for n in range(200):
        bank.gate(n).set()


@pytest.fixture
def chat(talk: Callable[..., Any], bank: Bank) -> Callable[..., Any]:
    def make(**options: Any) -> Any:
        about = {key: options.pop(key) for key in ("yield_after", "names") if key in options}
        about = {"tools" if key == "names" else key: value for key, value in about.items()}
        background = BackgroundOptions(**{"yield_after": 0.2, **about})
        given = {"tools": bank.tools, "ptc": ["slow", "pay"], "background": background}
        return talk(**{**given, **options})

    return make


def call(name: str, **args: Any) -> AIMessage:
    made = {"name": name, "args": args, "id": uuid.uuid4().hex, "type": "tool_call"}
    return AIMessage("", tool_calls=[made])


def wait(text: str, seconds: float = 60) -> AIMessage:
    return call("wait", id=cell_of(text), seconds=seconds)


def answers(messages: Any) -> list[str]:
    return [one.text for one in messages if isinstance(one, ToolMessage)]


def cell_of(text: str) -> str:
    found = re.search(r'<running id="(\w+)">', text)
    assert found, text
    return found[1]


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_true():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_an_eval_is_suspended_and_continued_in_later_turns(chat: Any, bank: Bank) -> None:
    agent = chat()
    (first,) = await agent.run(TWO)
    assert first.startswith("<stdout>\nbegun\n</stdout>\n<running id=")
    assert 'the code waits for tools.slow({"n": 1})' in first
    bank.gate(1).set()
    await until(lambda: bank.ended == [1])
    (second,) = await agent.run(wait(first, 0.1))
    assert second.startswith("<stdout>\nhalf\n</stdout>\n<running id=")
    bank.gate(2).set()
    assert await agent.run(wait(first)) == ["<result>3</result>"]
    assert (bank.begun, bank.ended) == ([1, 2], [1, 2])
    assert await agent.run("sum + 1") == ["<result>4</result>"]
    (expired,) = await agent.run(wait(first))
    assert "it has ended, and its result was returned; no cell is running" in expired


async def test_a_quick_eval_is_as_without(chat: Any) -> None:
    agent = chat()
    assert await agent.run("1 + 1") == ["<result>2</result>"]
    state = await agent.agent.aget_state({"configurable": {"thread_id": "t"}})
    unused = {"interpreter_cells", "interpreter_calls", "interpreter_drawn"}
    assert not unused & set(state.values)  # they would be stored with every thread


@both
async def test_another_agent_continues_it_and_takes_the_answers(
    chat: Any, bank: Bank, use_async: bool
) -> None:
    saver = InMemorySaver()
    one, two = chat(checkpointer=saver), chat(checkpointer=saver)
    (first,) = await one.run(TWO)
    bank.gate(1).set()
    (second,) = await two.run(wait(first, 0.5))
    assert "half" in second
    bank.gate(2).set()
    assert await one.run(wait(first)) == ["<result>3</result>"]
    assert bank.begun == [1, 2]


async def test_a_cancelled_wait_leaves_its_calls_to_be_recorded(chat: Any, bank: Bank) -> None:
    saver = InMemorySaver()
    agent = chat(checkpointer=saver)
    (first,) = await agent.run("await tools.slow({n: 1})")
    waiting = asyncio.ensure_future(agent.run(wait(first)))
    locks = agent.middleware._interpreter.background.cell_locks
    await until(lambda: bool(locks._active))
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until(lambda: bool(locks._outlasting))
    bank.gate(1).set()
    await until(lambda: not locks._outlasting)
    databases.forget_all()  # as another process, which has never known the call
    other = chat(checkpointer=saver)
    other.say([])
    state = await other.send(None)
    assert "<result>1</result>" in [m.text for m in state["messages"]]
    assert (bank.begun, bank.cancelled) == ([1], [])


@both
async def test_a_terminated_cell_leaves_nothing_running(
    chat: Any, bank: Bank, use_async: bool
) -> None:
    agent = chat()
    await agent.run("var total = 40")
    (first,) = await agent.run("total += 1; await tools.slow({n: 1}); total")
    (refused,) = await agent.run("total")
    cell = cell_of(first)
    assert f"cell {cell} is still running and holds the variables; nothing was run" in refused
    (said,) = await agent.run(call("terminate", id=cell))
    assert said == (
        f"<terminated>cell {cell}: it was terminated; its changes to variables are undone; "
        "calls in flight were cancelled, and may have had their effects: "
        'tools.slow({"n": 1})</terminated>'
    )
    assert (bank.begun, bank.cancelled) == ([1], [1])
    assert await agent.run("total") == ["<result>40</result>"]
    for again in (wait(first), call("terminate", id=cell)):
        (expired,) = await agent.run(again)
        assert f"cell {cell}: it was terminated; no cell is running" in expired


async def test_an_unknown_id_is_answered_with_the_known_ones(chat: Any, bank: Bank) -> None:
    agent = chat()
    (none,) = await agent.run(call("wait", id="<b>"))
    assert none == (
        '<error type="CellGone">cell &lt;b&gt;: there is no such cell; no cell is running</error>'
    )
    (first,) = await agent.run(TWO)
    (other,) = await agent.run(call("wait", id="nope"))
    assert f"there is no such cell; running: {cell_of(first)}" in other


@both
async def test_an_approval_is_asked_at_the_wait_that_reaches_it(
    chat: Any, bank: Bank, use_async: bool
) -> None:
    agent = chat(interrupt_on={"pay": True})
    (first,) = await agent.run("const n = await tools.slow({n: 1}); n + await tools.pay({})")
    bank.gate(1).set()
    asked = (await agent.turn(wait(first)))["__interrupt__"]
    assert [one["name"] for one in asked[0].value["action_requests"]] == ["pay"]
    assert bank.paid == 0
    resume = Command(resume={"decisions": [{"type": "approve"}]})
    config = {"configurable": {"thread_id": "t"}}
    if use_async:
        result = await agent.agent.ainvoke(resume, config)
    else:
        result = await asyncio.to_thread(agent.agent.invoke, resume, config)
    (answer,) = [m.text for m in result["messages"][-2:] if isinstance(m, ToolMessage)]
    assert answer == "<result>1paid</result>"
    assert (bank.begun, bank.paid) == ([1], 1)


@both
async def test_a_wait_that_is_resumed_again_continues_from_the_same_variables(
    chat: Any, bank: Bank, use_async: bool
) -> None:
    agent = chat(interrupt_on={"pay": True})
    await agent.run("var n = 0")
    (first,) = await agent.run("n += 1; await tools.slow({n}); n += 10; await tools.pay({}); n")
    bank.gate(1).set()
    (asked,) = (await agent.turn(wait(first)))["__interrupt__"]
    paused = await agent.agent.aget_state({"configurable": {"thread_id": "t"}})
    approved = Command(resume={asked.id: {"decisions": [{"type": "approve"}]}})
    for _ in range(2):
        agent.say([])
        ended = await agent.send(approved, paused.config)
        assert ended["messages"][-2].text == "<result>11</result>"
    assert await agent.run("n") == ["<result>11</result>"]
    assert (bank.begun, bank.paid) == ([1], 1)


async def test_an_abandoned_question_is_asked_again(chat: Any, bank: Bank) -> None:
    agent = chat(interrupt_on={"pay": True}, yield_after=30)
    asked = (await agent.turn("await tools.pay({})"))["__interrupt__"]
    assert len(asked) == 1, "an eval that is not suspended asks as ever"
    (first,) = await chat(interrupt_on={"pay": True}).run(
        "await tools.slow({n: 1}); await tools.pay({})"
    )
    assert "<running" in first


async def test_evals_of_one_message_do_not_share_a_realm(
    chat: Any, bank: Bank, evals: Callable[..., AIMessage]
) -> None:
    agent = chat()
    first, second = await agent.run(evals("await tools.slow({n: 1})", "1 + 1"))
    assert f"cell {cell_of(first)} is still running" in second
    bank.gate(1).set()
    assert await agent.run(wait(first)) == ["<result>1</result>"]
    assert await agent.run("1 + 1") == ["<result>2</result>"]


async def test_evals_without_variables_run_side_by_side(
    chat: Any, bank: Bank, evals: Callable[..., AIMessage]
) -> None:
    agent = chat(mode="call")
    first, second = await agent.run(evals("await tools.slow({n: 1})", "await tools.slow({n: 2})"))
    for n, text in ((2, second), (1, first)):
        bank.gate(n).set()
        assert await agent.run(wait(text)) == [f"<result>{n}</result>"]
    assert sorted(bank.begun) == [1, 2]


async def test_a_turn_that_ends_ends_its_cells(chat: Any, bank: Bank) -> None:
    agent = chat(mode="turn")
    (first,) = await agent.run("await tools.slow({n: 1})")
    assert bank.cancelled == [1]
    (expired,) = await agent.run(wait(first))
    assert "it ended with an earlier turn; no cell is running" in expired
    assert await agent.run("1 + 1") == ["<result>2</result>"]


async def test_a_deleted_conversation_leaves_nothing_running(
    chat: Any, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_locks, "_EXISTS_SECONDS", 0.05)
    saver = InMemorySaver()
    agent = chat(checkpointer=saver)
    (first,) = await agent.run("await tools.slow({n: 1})")
    saver.delete_thread("t")
    await until(lambda: bank.cancelled == [1])
    (expired,) = await agent.run(wait(first))
    assert "there is no such cell" in expired
    assert agent.middleware._interpreter.background.cell_locks._outlasting == {}


async def test_a_closed_middleware_leaves_nothing_running(chat: Any, bank: Bank) -> None:
    agent = chat()
    await agent.run("await tools.slow({n: 1})")
    await agent.middleware.aclose()
    assert bank.cancelled == [1]


async def test_a_hundred_conversations_at_once(chat: Any, bank: Bank) -> None:
    agent = chat(yield_after=0)

    async def one(n: int) -> str:
        config = {"configurable": {"thread_id": f"t{n}"}}
        given = {"messages": [("user", "go")]}
        state = await agents[n].agent.ainvoke(given, config)
        text = next(m.text for m in state["messages"] if isinstance(m, ToolMessage))
        return cell_of(text)

    agents = [
        chat(yield_after=0, checkpointer=InMemorySaver(), stack=agent.middleware.stack)
        for _ in range(100)
    ]
    for n, each in enumerate(agents):
        each.say([call("eval", code=f"await tools.slow({{n: {n}}})")])
    cells = await asyncio.gather(*map(one, range(100)))
    assert sorted(bank.begun) == list(range(100))
    for n in range(100):
        bank.gate(n).set()
    await until(lambda: len(bank.ended) == 100)
    for n, each in enumerate(agents):
        each.say([call("wait", id=cells[n], seconds=60)])

    async def two(n: int) -> str:
        config = {"configurable": {"thread_id": f"t{n}"}}
        state = await agents[n].agent.ainvoke({"messages": [("user", "go")]}, config)
        return [m.text for m in state["messages"] if isinstance(m, ToolMessage)][-1]

    said = await asyncio.gather(*map(two, range(100)))
    assert said == [f"<result>{n}</result>" for n in range(100)]
    assert sorted(bank.begun) == list(range(100))


async def test_it_needs_a_checkpointer(chat: Any) -> None:
    with pytest.raises(ConfigurationError, match="needs a checkpointer"):
        await chat(checkpointer=None).run("1")


def test_it_needs_a_record(chat: Any) -> None:
    with pytest.raises(ConfigurationError, match="background=True needs durable=True"):
        chat(durable=False)


async def test_the_tools_have_other_names(chat: Any, bank: Bank) -> None:
    agent = chat(names=("go_on", "stop_code"))
    (first,) = await agent.run("await tools.slow({n: 1})")
    assert f'Call go_on(id="{cell_of(first)}", seconds=…)' in first
    assert [one.name for one in agent.middleware.tools] == ["eval", "go_on", "stop_code"]
    bank.gate(1).set()
    assert await agent.run(call("go_on", id=cell_of(first))) == ["<result>1</result>"]


@pytest.mark.parametrize("engine", ["v8", "node", "monty"])
async def test_other_engines(chat: Any, bank: Bank, engine: str) -> None:
    agent = chat(engine=engine)
    python = engine == "monty"
    code = "a = await tools.slow(n=1)\na" if python else "const a = await tools.slow({n: 1}); a"
    (first,) = await agent.run(code)
    bank.gate(1).set()
    await until(lambda: bank.ended == [1])
    (said,) = await agent.run(wait(first))
    assert "1" in said
    assert "<error" not in said
    assert (bank.begun, bank.ended) == ([1], [1])


async def test_functions_live_on_over_turns(chat: Any, bank: Bank) -> None:
    """So do images that were shown, and the functions of the cell itself."""
    gif = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
    agent = chat(engine="v8")
    await agent.run("class Pair { constructor(n) { this.n = n } }; let k = 0; const f = () => ++k")
    (first,) = await agent.run(
        f"f(); await display('{gif}'); const own = new Map([[1, new Pair(7)]]);"
        "const a = await tools.slow({n: f()}); const b = await tools.slow({n: f()});"
        "[a, b, own.get(1) instanceof Pair, f()].join()"
    )
    for n in (2, 3):
        while n not in bank.begun:  # a busy machine needs several time slices
            await agent.run(wait(first, 0.5))
        await agent.run(wait(first, 0))
        bank.gate(n).set()
    assert await agent.run(wait(first)) == ["<result>2,3,true,4</result>"]
    assert bank.begun == [2, 3]
    assert await agent.run("f() + own.get(1).n") == ["<result>12</result>"]


async def test_a_cell_that_calls_a_lost_function_ends(chat: Any, bank: Bank) -> None:
    agent = chat(engine="v8")
    await agent.run("var f = () => 1; var n = 2")
    (first,) = await agent.run("f(); await tools.slow({n: 1})")
    agent.middleware._interpreter.evals.stack.engine._kept.close()
    (said,) = await agent.run(wait(first))
    assert '<error type="ReplayDivergence">' in said
    assert "asked for tools.slow(" in said
    assert "the code ended with Error: Value for 'f' was not restored" in said
    assert (bank.begun, bank.cancelled) == ([1], [1])
    (after,) = await agent.run("n")
    assert after.endswith("<result>2</result>")


@pytest.mark.parametrize("engine", ["quickjs", "v8"])
async def test_images_come_with_the_time_slice_that_shows_them(
    chat: Any, bank: Bank, engine: str
) -> None:
    gif = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
    code = (
        f"await display('{gif}'); await tools.slow({{n: 1}}); await display('{gif}');"
        "await tools.slow({n: 2}); 'both'"
    )
    agent = chat(engine=engine)

    async def blocks(said: Any) -> tuple[list[str], str]:
        messages = (await agent.turn(said))["messages"]
        last = [m for m in messages if isinstance(m, ToolMessage)][-1]
        content = last.content if isinstance(last.content, list) else [last.text]
        return [one["type"] if isinstance(one, dict) else "text" for one in content], last.text

    kinds, first = await blocks(code)
    for n in (1, 2):
        while kinds.count("image") < n:  # a busy machine needs several time slices
            more, text = await blocks(wait(first, 0.5))
            kinds, first = [*kinds, *more], first + text
        assert (kinds.count("image"), first.count("<notice>Shown 1: image/gif")) == (n, n)
        kinds += (await blocks(wait(first, 0)))[0]
        bank.gate(n).set()
        await until(lambda n=n: bank.ended == [*range(1, n + 1)])  # type: ignore[misc]
    assert kinds.count("image") == 2
    assert await blocks(wait(first)) == (["text"], "<result>both</result>")


async def test_a_budget_covers_all_time_slices_of_a_cell(chat: Any, bank: Bank) -> None:
    """In another agent, too; a time slice that repeats calls draws nothing for them."""
    saver = InMemorySaver()
    one, two = (chat(checkpointer=saver, budget=Budget(requests=2)) for _ in range(2))
    code = (
        "await tools.slow({n: 1}); await tools.slow({n: 2});"
        "await tools.slow({n: 3}).catch(error => error.name)"
    )
    (first,) = await one.run(code)
    bank.gate(1).set()
    await until(lambda: bank.ended == [1])
    (second,) = await two.run(wait(first, 0.5))
    assert cell_of(second) == cell_of(first)
    bank.gate(2).set()
    await until(lambda: bank.ended == [1, 2])
    (said,) = await two.run(wait(first))
    assert said.endswith("<result>BudgetExceeded</result>")
    assert bank.begun == [1, 2]


class Breaks(AgentMiddleware[Any, Any, Any]):
    """Fails at the second call of the model."""

    calls = 0

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        self.calls += 1
        if self.calls == 2:
            raise ConnectionError("died")
        return await handler(request)


@pytest.mark.parametrize("store", [None, InMemoryStore()], ids=["replayed", "suspended"])
@pytest.mark.parametrize(
    ("budget", "kind"),
    [
        (Budget(requests=2), "requests"),
        (Budget(tool_requests={"slow": 2}), "tool_requests:slow"),
    ],
    ids=["requests", "of a tool"],
)
@pytest.mark.parametrize("process", ["same", "another"])
@pytest.mark.parametrize("turn", ["same", "later"])
async def test_a_budget_counts_calls_in_flight_once(
    chat: Any, bank: Bank, turn: str, process: str, budget: Budget, kind: str, store: Any
) -> None:
    """Although another process makes the calls again."""
    code = (
        "await Promise.all([1, 2].map(n => tools.slow({n})));"
        "await tools.slow({n: 3}).catch(error => error.budget)"
    )
    options = {"checkpointer": InMemorySaver(), "budget": budget, "agent_options": {"store": store}}
    agent = chat(**options, before=[Breaks()] if turn == "same" else [])
    with pytest.raises(ConnectionError) if turn == "same" else nullcontext():
        await agent.turn(code)
    (first,) = answers((await agent.agent.aget_state(CONFIG)).values["messages"])
    if process == "another":
        await agent.middleware.aclose()
        agent = chat(**options)
    for n in (1, 2, 3):  # the calls end during the wait
        asyncio.get_running_loop().call_later(0.5, bank.gate(n).set)
    agent.say([wait(first)])
    state = await agent.send(None if turn == "same" else {"messages": [("user", "go")]})
    assert answers(state["messages"])[-1] == f"<result>{kind}</result>"
    assert set(bank.begun) == {1, 2}


class Notes(AgentState[Any]):
    """A state to which tools add."""

    notes: Annotated[list[str], operator.add]


async def test_a_command_of_a_call_in_flight_arrives_once(talk: Any) -> None:
    begun, go = list[str](), threading.Event()

    @tool
    async def note(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Note a text."""
        begun.append(text)
        while not go.is_set():  # noqa: ASYNC110 - set from anywhere
            await asyncio.sleep(0.01)
        said = ToolMessage("noted", tool_call_id=call_id)
        return Command(update={"messages": [said], "notes": [text]})

    agent = talk(
        tools=[note],
        ptc=["note"],
        background=BackgroundOptions(0.2),
        agent_options={"state_schema": Notes},
    )
    (first,) = await agent.run("await tools.note({text: 'a'})")
    go.set()
    result = await agent.turn(wait(first))
    assert (begun, result["notes"]) == (["a"], ["a"])
    assert (await agent.turn("1"))["notes"] == ["a"]
