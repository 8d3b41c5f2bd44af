"""An eval that is run again under other circumstances: its calls are the same, and made once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from guests import without_restored
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.types import Command

from interpstack_langchain.evals.call_names import unique_names

CONFIG = {"configurable": {"thread_id": "t"}}


def decide(*kinds: Any) -> Command[Any]:
    given = [kind if isinstance(kind, dict) else {"type": kind} for kind in kinds]
    return Command(resume={"decisions": given})


def last(result: Any) -> str:
    return str(next(m.text for m in reversed(result["messages"]) if m.type == "tool"))


class Till:
    """Tools that note what was paid, under which id."""

    def __init__(self) -> None:
        self.paid: list[tuple[Any, str]] = []
        self.hangs = False

        @tool
        async def pay(to: Any, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
            """Pay."""
            self.paid.append((to, tool_call_id))
            if self.hangs:
                self.hangs = False
                await asyncio.sleep(60)
            return f"receipt of {to}"

        @tool
        async def look(at: Any = 0) -> Any:
            """Look something up."""
            return at

        @tool("pay")
        def sync_pay(to: Any, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
            """Pay."""
            self.paid.append((to, tool_call_id))
            return f"receipt of {to}"

        self.tools, self.sync_tools = [pay, look], [sync_pay, look]
        self.names = ["pay", "look"]

    @property
    def payees(self) -> list[Any]:
        return [to for to, _ in self.paid]


@pytest.fixture
def till() -> Till:
    return Till()


async def cancelled(chat: Any, code: str, until: Callable[[], bool]) -> None:
    """Run code in an agent, and cancel that once something has happened."""
    run = asyncio.ensure_future(chat.turn(code))
    async with asyncio.timeout(30):
        while not until():  # noqa: ASYNC110 - of tools, and of a database
            await asyncio.sleep(0.01)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


@pytest.fixture(
    params=[{}, {"engine": "v8"}, {"max_snapshot_bytes": 3000}], ids=["image", "v8", "values"]
)
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """How a state is stored: as an image, as what V8 has in its place, or as values."""
    if request.param.get("engine") == "v8":
        pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")
    given: dict[str, Any] = request.param
    return given


async def test_calls_have_their_ids_where_the_realm_is_another(
    talk: Any, till: Till, options: dict[str, Any]
) -> None:
    """An engine counts requests in its realm; one that comes from values begins anew."""
    chat = talk(tools=till.tools, ptc=till.names, **options)
    await chat.turn("await tools.pay({to: 'Zoe'})")
    till.hangs = True
    code = "[await tools.pay({to: 'Ann'}), await tools.pay({to: 'Bob'})].join()"
    await cancelled(chat, code, lambda: till.payees[-1] == "Ann")
    result = await chat.agent.ainvoke(None, CONFIG)
    assert "receipt of Ann,receipt of Bob" in last(result)
    zoe, ann, again, bob = till.paid
    assert ann == again
    assert len({key for _, key in (zoe, ann, bob)}) == 3


async def test_an_approved_call_of_a_later_eval_is_made(
    talk: Any, till: Till, options: dict[str, Any]
) -> None:
    saver = InMemorySaver()
    given = {"tools": till.tools, "ptc": till.names, "interrupt_on": {"pay": True}}
    chat = talk(checkpointer=saver, **given, **options)
    await chat.turn("let n = await tools.look({at: 1})")
    await chat.turn("await tools.look({at: 2}); await tools.pay({to: n})")
    other = talk(checkpointer=saver, **given, **options)
    other.say([])
    assert "receipt of 1" in last(await other.agent.ainvoke(decide("approve"), CONFIG))
    assert till.payees == [1]


async def test_ids_differ_where_a_model_uses_its_own_again(talk: Any, till: Till) -> None:
    chat = talk(tools=till.tools, ptc=till.names, mode="turn")
    for to in ("Ann", "Bob"):
        call = {"name": "eval", "args": {"code": f"await tools.pay({{to: '{to}'}})"}, "id": "c0"}
        await chat.turn(AIMessage("", tool_calls=[call]))
    (_, ann), (_, bob) = till.paid
    assert ann != bob


def same_ids(*codes: str, ids: tuple[str, ...] = ("c0", "c0")) -> AIMessage:
    """A message in which a model gives several evals one id."""
    calls = [
        {"name": "eval", "args": {"code": code}, "id": call_id}
        for code, call_id in zip(codes, ids, strict=True)
    ]
    return AIMessage("", tool_calls=calls)


SAME_IDS = [
    ("let n = 1; await tools.pay({to: 'Ann'})", "n += 1; await tools.pay({to: 'Bob'}) + n"),
    ("await tools.pay({to: 'Ann'})", "await tools.pay({to: 'Ann'})"),
]
ANSWERS = [["receipt of Ann", "receipt of Bob2"], ["receipt of Ann", "receipt of Ann"]]


@pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize(
    ("codes", "answers"), list(zip(SAME_IDS, ANSWERS, strict=True)), ids=["other", "same"]
)
@pytest.mark.parametrize("waits", [False, True], ids=["at once", "approved"])
async def test_two_evals_of_one_message_with_one_id_are_two_evals(
    talk: Any, till: Till, codes: Any, answers: list[str], waits: bool, use_async: bool
) -> None:
    saver = InMemorySaver()
    given = {"tools": till.tools if use_async else till.sync_tools, "ptc": till.names}
    chat = talk(**given, checkpointer=saver, interrupt_on={"pay": True} if waits else None)
    result = await chat.turn(same_ids(*codes))
    while waits and "__interrupt__" in result:  # each goes on in another process
        chat = talk(**given, checkpointer=saver, interrupt_on={"pay": True})
        chat.say([])
        if use_async:
            result = await chat.agent.ainvoke(decide("approve"), CONFIG)
        else:
            result = await asyncio.to_thread(chat.agent.invoke, decide("approve"), CONFIG)
    texts = [m.text for m in result["messages"] if m.type == "tool"]
    assert [without_restored(text) for text in texts] == [f"<result>{t}</result>" for t in answers]
    assert len(till.paid) == len({key for _, key in till.paid}) == 2


def test_names_of_calls_are_unique() -> None:
    assert unique_names(["a", "b", "a", "a#2", "a", ""]) == ["a", "b", "a#2#", "a#2", "a#3", ""]
    assert unique_names([]) == []


@pytest.mark.parametrize(
    ("decision", "answer", "payees"),
    [
        ("approve", "receipt of 9", [9]),
        ("reject", "a reviewer rejected this call", []),
        ({"type": "respond", "message": "no"}, "<result>no</result>", []),
        ({"type": "edit", "edited_action": {"name": "pay", "args": {"to": 1}}}, "of 1", [1]),
    ],
)
async def test_a_decision_holds_where_nothing_needs_one_any_more(
    talk: Any, till: Till, decision: Any, answer: str, payees: list[int]
) -> None:
    saver = InMemorySaver()
    given = {"tools": till.tools, "ptc": till.names, "checkpointer": saver}
    await talk(interrupt_on={"pay": True}, **given).turn("await tools.pay({to: 9})")
    other = talk(**given)
    other.say([])
    assert answer in last(await other.agent.ainvoke(decide(decision), CONFIG))
    assert till.payees == payees


@pytest.mark.parametrize("with_store", [False, True], ids=["again", "suspended"])
async def test_a_refused_call_does_not_take_the_place_of_one_that_waits(
    talk: Any, till: Till, with_store: bool
) -> None:
    from langgraph.store.memory import InMemoryStore

    chat = talk(
        tools=till.tools,
        ptc=till.names,
        max_ptc_calls=2,
        interrupt_on={"pay": True},
        agent_options={"store": InMemoryStore()} if with_store else {},
    )
    await chat.turn(
        "const all = [tools.look({at: 1}), tools.pay({to: 2}), tools.look({at: 3})];"
        "(await Promise.allSettled(all)).map((r) => r.value ?? r.reason.name).join()"
    )
    result = await chat.agent.ainvoke(decide("approve"), CONFIG)
    assert last(result) == "<result>1,receipt of 2,PTCCallBudgetExceeded</result>"


@pytest.mark.parametrize(
    "value",
    ["10n ** 40n", "7n ** 9000n", "new Map([[1, 2n ** 70n]])", "new Set([1])", "Error('x')"],
)
async def test_any_value_can_wait_for_an_approval(talk: Any, till: Till, value: str) -> None:
    chat = talk(tools=till.tools, ptc=till.names, interrupt_on={"pay": True})
    result = await chat.turn(f"(await tools.pay({{to: {value}}})).slice(0, 7)")
    assert result["__interrupt__"]
    answers = last(await chat.agent.ainvoke(decide("approve"), CONFIG))
    # Python itself writes no such integer as a decimal, which is the tool's affair.
    assert answers == "<result>receipt</result>" or "Exceeds the limit" in answers


async def test_what_ends_while_the_guest_computes_is_recorded(talk: Any) -> None:
    charged = []

    @tool
    async def charge() -> str:
        """Charge."""
        await asyncio.sleep(0.1)
        charged.append(1)
        return "charged"

    @tool
    async def quick() -> int:
        """Answer at once."""
        return 1

    class Saver(InMemorySaver):
        kept = False

        async def aput_writes(self, config: Any, writes: Any, *rest: Any) -> None:
            await super().aput_writes(config, writes, *rest)
            self.kept = self.kept or any("kept" in value for _, value in writes if value)

    saver = Saver()
    chat = talk(tools=[charge, quick], ptc=["charge", "quick"], checkpointer=saver)
    code = (
        "const busy = tools.quick({}).then(() => { for (let i = 0; i < 2e7; i++); });"
        "(await Promise.all([tools.charge({}), busy]))[0]"
    )
    await cancelled(chat, code, lambda: saver.kept)
    assert last(await chat.agent.ainvoke(None, CONFIG)) == "<result>charged</result>"
    assert charged == [1]


async def test_the_clock_is_recorded_before_the_first_call(talk: Any, till: Till) -> None:
    chat = talk(tools=till.tools, ptc=till.names)
    till.hangs = True
    await cancelled(chat, "await tools.pay({to: Date.now()})", lambda: bool(till.paid))
    await asyncio.sleep(0.05)
    await chat.agent.ainvoke(None, CONFIG)
    first, again = till.paid
    assert first == again


async def test_a_break_that_asks_nothing_is_passed_when_the_run_goes_on(talk: Any) -> None:
    runs = []

    @tool
    async def wait() -> str:
        """Wait for something outside."""
        runs.append(1)
        if len(runs) == 1:
            raise GraphInterrupt(())
        return "ready"

    chat = talk(tools=[wait], ptc=["wait"])
    await chat.turn("await tools.wait({})")
    assert last(await chat.agent.ainvoke(None, CONFIG)) == "<result>ready</result>"


class Lossy(InMemorySaver):
    """Stores an entry, or not, and then says that it failed."""

    def __init__(self, stores: bool) -> None:
        super().__init__()
        self.stores, self.fails = stores, True

    async def aput_writes(self, config: Any, writes: Any, *rest: Any) -> None:
        step = any(isinstance(value, dict) and value.get("settled") for _, value in writes)
        fails, self.fails = self.fails and step, self.fails and not step
        if not fails or self.stores:
            await super().aput_writes(config, writes, *rest)
        if fails:
            raise ConnectionError("the connection was lost")


@pytest.mark.parametrize("stores", [True, False])
@pytest.mark.parametrize("retries", [True, False])
async def test_a_record_that_failed_is_no_second_call(
    talk: Any, till: Till, stores: bool, retries: bool
) -> None:
    retry = ToolRetryMiddleware(retry_on=(ConnectionError,), initial_delay=0.01)
    chat = talk(
        tools=till.tools,
        ptc=till.names,
        checkpointer=Lossy(stores),
        before=[retry] if retries else [],
    )
    code = "const a = await tools.pay({to: 'Ann'}); const b = await tools.pay({to: 'Bob'}); a + b"
    if retries:
        result = await chat.turn(code)
    else:
        with pytest.raises(ConnectionError):
            await chat.turn(code)
        result = await chat.agent.ainvoke(None, CONFIG)
    assert last(result) == "<result>receipt of Annreceipt of Bob</result>"
    assert till.payees == ["Ann", "Bob"]


@pytest.mark.parametrize("mode", ["thread", "turn", "call"])
async def test_two_answers_at_once_are_one_call(talk: Any, mode: str) -> None:
    paid = []

    @tool
    async def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        await asyncio.sleep(0.1)
        return "receipt"

    chat = talk(tools=[pay], ptc=["pay"], interrupt_on={"pay": True}, mode=mode)
    await chat.turn("await tools.pay({to: 'Ann'})")
    chat.say([AIMessage("done")])  # one end for each
    both = [chat.agent.ainvoke(decide("approve"), CONFIG) for _ in range(2)]
    assert [last(result) for result in await asyncio.gather(*both)] == 2 * [
        "<result>receipt</result>"
    ]
    assert paid == ["Ann"]


@pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("mode", ["thread", "call"])
async def test_two_answers_at_once_are_no_answer_to_what_is_asked_next(
    talk: Any, mode: str, use_async: bool
) -> None:
    """Somebody who presses "approve" twice has not seen the next question."""
    paid, begun, go_on = [], threading.Event(), threading.Event()

    @tool
    def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        begun.set()
        assert go_on.wait(30)
        return "receipt"

    class Arrivals(AgentMiddleware):
        """Notes runs of the eval that are about to begin."""

        seen = 0

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            self.seen += request.tool_call["name"] == "eval"
            return handler(request)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            self.seen += request.tool_call["name"] == "eval"
            return await handler(request)

    def resume() -> asyncio.Future[Any]:
        answer = decide("approve")
        if use_async:
            return asyncio.ensure_future(chat.agent.ainvoke(answer, CONFIG))
        return asyncio.ensure_future(asyncio.to_thread(chat.agent.invoke, answer, CONFIG))

    arrivals = Arrivals()
    chat = talk(tools=[pay], ptc=["pay"], interrupt_on={"pay": True}, mode=mode, before=[arrivals])
    await chat.turn("await tools.pay({to: 'Ann'}); await tools.pay({to: 'Bob'})")
    runs = [resume()]
    assert await asyncio.to_thread(begun.wait, 30)
    runs.append(resume())
    async with asyncio.timeout(30):
        while arrivals.seen < 3:  # noqa: ASYNC110 - of a middleware, and of a thread
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)  # it waits for the first run by now
    go_on.set()
    answers = [result["__interrupt__"] for result in await asyncio.gather(*runs)]
    assert answers[0] == answers[1]
    assert paid == ["Ann"]
    await resume()
    assert paid == ["Ann", "Bob"]


async def test_output_before_a_failure_is_shown_where_a_journal_is_kept(talk: Any) -> None:
    chat = talk(memory_limit=16 * 2**20)
    (text,) = await chat.run("console.log('before'); for (const a = [];;) a.push('x'.repeat(1e5));")
    assert text.startswith('<stdout>\nbefore\n</stdout>\n<error type="OutOfMemory">')
