"""Cells in the background of one session, on every engine that is installed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import Any

import attrs
import pytest

import interpstack_durable
from interpstack import (
    Bridge,
    CellContext,
    ConfigurationError,
    HostOffer,
    InterpreterStack,
    Limits,
    SessionClosed,
)
from interpstack_accounts.api import Account, Budget
from interpstack_durable.api import (
    BackgroundCells,
    CellAnswer,
    MemoryJournalStore,
    ReplayDivergence,
    read_cell,
)
from interpstack_node.engine import NodeEngine

SLOW = {
    "javascript": "console.log('begun'); const a = await kit.slow({n: 1}); console.log('half');"
    "const b = await kit.slow({n: 2}); a + b",
    "python": "print('begun')\na = await kit.slow(n=1)\nprint('half')\n"
    "b = await kit.slow(n=2)\na + b",
}
COUNT = {
    "javascript": "total = total + await kit.slow({n: 1})",
    "python": "total += await kit.slow(n=1)\ntotal",
}
#: A class, a function with a variable of its own, and a map of instances.
LIVE = (
    "class Pair { constructor(n) { this.n = n } twice() { return 2 * this.n } }"
    "let calls = 0; const count = () => ++calls; const pairs = new Map([['a', new Pair(4)]]);"
)
#: Uses them before, between and after its calls; so it makes other calls without them.
USES_LIVE = (
    "const own = new Map([[pairs, () => 5]]); count(); const a = await kit.slow({n: count()});"
    "const b = await kit.slow({n: pairs.get('a') instanceof Pair ? count() : 0});"
    "[a, b, pairs.get('a').twice(), own.get(pairs)(), count()].join()"
)
#: One call, then two together, then one more.
FOUR = (
    "await kit.slow({n: 1}); await Promise.all([2, 3].map(n => kit.slow({n})));"
    "await kit.slow({n: 4}).catch(error => error.name)"
)
SLEEP = "await new Promise(done => setTimeout(done, 300)); 'awake'"


class Asks(Exception):
    """A call waits for a decision."""


#: Set by whoever waits for a cell, and read by its calls.
caller: ContextVar[str] = ContextVar("caller", default="nobody")


def forget_kept(cells: BackgroundCells) -> None:
    """Have the engine end its suspended cells, as it does when other sessions need their room."""
    engine: Any = cells._session.stack.engine
    engine._kept.close()


@attrs.define(eq=False)
class Kit:
    """Functions that code calls, and what they did.

    Attributes:
        begun: Inputs of the calls of `slow`, in order.
        ended: Those of the calls that ended.
        go: Lets calls of `slow` end, one for each input.
        approved: Whether `pay` may be called.
        paid: Inputs of the calls of `pay` that had their effect.
        callers: Who waited when the calls of `slow` began, and the host's object of that time.
        tokens: Tokens that each call of `slow` draws at its end.
    """

    begun: list[int] = attrs.field(factory=list)
    ended: list[int] = attrs.field(factory=list)
    cancelled: list[int] = attrs.field(factory=list)
    go: dict[int, asyncio.Event] = attrs.field(factory=dict)
    approved: bool = False
    paid: list[int] = attrs.field(factory=list)
    callers: list[tuple[str, Any]] = attrs.field(factory=list)
    tokens: int = 0
    stores: dict[str, MemoryJournalStore] = attrs.field(factory=dict)

    def let(self, n: int) -> None:
        self.go.setdefault(n, asyncio.Event()).set()

    async def slow(self, n: int, context: CellContext) -> int:
        self.begun.append(n)
        self.callers.append((caller.get(), context.host))
        try:
            await self.go.setdefault(n, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.cancelled.append(n)
            raise
        if (account := Account.current()) is not None:
            account.spend({"tokens": self.tokens})
        self.ended.append(n)
        return n

    async def pay(self, n: int) -> str:
        if not self.approved:
            raise Asks
        self.paid.append(n)
        return f"paid {n}"

    async def show(self, n: int, context: CellContext) -> None:
        context.attach(n)

    async def show_slowly(self, n: int, context: CellContext) -> None:
        context.attach(n)
        context.write_console(f"shown {n}")
        await self.slow(n, context)

    def store(self, cell: str) -> MemoryJournalStore:
        return self.stores.setdefault(cell, MemoryJournalStore(f"cell {cell}"))

    @asynccontextmanager
    async def cells(self, engine: Any, **limits: Any) -> AsyncIterator[BackgroundCells]:
        """Cells of a process of their own, whose journals this kit keeps."""
        bridges = [
            Bridge(name="kit.slow", handler=self.slow),
            Bridge(name="kit.pay", handler=self.pay, passes=(Asks,)),
            Bridge(name="kit.show", handler=self.show, repeats=True),
            Bridge(name="kit.show_slowly", handler=self.show_slowly, repeats=True),
        ]
        async with (
            InterpreterStack(
                engine,
                ["accounts", "console", "durable"],
                bridges=bridges,
                limits=Limits(**limits),
            ) as stack,
            stack.session() as session,
        ):
            cells = BackgroundCells(session, self.store)
            session.bind(HostOffer(parts=[cells.journals]))
            try:
                yield cells
            finally:
                await cells.aclose()


@pytest.fixture
def kit() -> Kit:
    return Kit()


@pytest.fixture(params=["quickjs", "v8", "monty", "node"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def of(codes: dict[str, str], engine: str) -> str:
    return codes["python" if engine == "monty" else "javascript"]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - set from anywhere
            await asyncio.sleep(0.01)


async def test_a_slow_cell_is_suspended_and_continued(kit: Kit, engine: str) -> None:
    async with kit.cells(engine) as cells:
        first = await cells.eval(of(SLOW, engine), yield_after=0.05)
        assert (first.outcome, first.console, first.waits_for) == (
            None,
            "begun",
            ('kit.slow({"n": 1})',),
        )
        assert cells.running == first.id
        kit.let(1)
        await until(lambda: kit.ended == [1])
        assert kit.begun == [1], "the guest makes no call between time slices"
        second = await cells.wait(first.id, 0.05)
        assert (second.outcome, second.console, second.waits_for) == (
            None,
            "half",
            ('kit.slow({"n": 2})',),
        )
        kit.let(2)
        third = await cells.wait(first.id, 30)
        assert third.outcome is not None
        assert (third.outcome.text, third.console) == ("3", "")
        assert third.outcome.console == "begun\nhalf"
        assert (kit.begun, kit.ended) == ([1, 2], [1, 2])
        assert cells.running is None


async def test_requests_keep_their_time_while_a_cell_is_suspended(kit: Kit, engine: str) -> None:
    async with kit.cells(engine) as cells:
        first = await cells.eval(of(SLOW, engine), yield_after=0.05)
        suspended = time.time()
        kit.let(1)
        kit.let(2)
        await until(lambda: kit.ended == [1])
        assert (await cells.wait(first.id, 30)).outcome is not None
    recorded = read_cell(await kit.store("1").load()).entries
    before, after = [entry.computed for entry in recorded if entry.asked]
    assert before is not None
    assert after is not None
    assert before[1] <= suspended <= after[0]


async def test_a_quick_cell_ends_at_once(kit: Kit, engine: str) -> None:
    async with kit.cells(engine) as cells:
        answer = await cells.eval("1 + 1", yield_after=30)
        assert answer.outcome is not None
        assert answer.outcome.text == "2"
        assert (await cells.wait(answer.id, 0)).missing == (
            "cell 1: it has ended, and its outcome was returned; no cell is running"
        )


async def test_another_process_continues_a_cell(kit: Kit, engine: str) -> None:
    async with kit.cells(engine) as cells:
        first = await cells.eval(of(SLOW, engine), yield_after=0.05)
        kit.let(1)
        await until(lambda: kit.ended == [1])
        await until(lambda: any("kept" in entry for entry in kit.store("1")._entries.values()))
    async with kit.cells(engine) as others:
        others.adopt(first.id, of(SLOW, engine))
        second = await others.wait(first.id, 0.05)
        assert second.waits_for == ('kit.slow({"n": 2})',)
        kit.let(2)
        third = await others.wait(first.id, 30)
        assert third.outcome is not None
        assert third.outcome.text == "3"
    assert kit.begun == [1, 2]


@pytest.mark.parametrize("process", ["same", "another"])
@pytest.mark.parametrize("suspends", [False, True], ids=["replayed", "suspended"])
@pytest.mark.parametrize("account", ["same", "another"])
async def test_an_account_counts_calls_in_flight_of_an_earlier_time_slice_once(
    kit: Kit, account: str, suspends: bool, process: str
) -> None:
    kit.store("1").suspends = suspends
    around = Account(Budget())
    first = Account(Budget(requests=3), around)
    second = first if account == "same" else Account(first.budget, around)
    kit.let(1)
    async with kit.cells("quickjs") as cells:
        with first.use():
            await cells.eval(FOUR, yield_after=0.5)
        if process == "same":
            answer = await continued(kit, cells, second)
    if process == "another":
        async with kit.cells("quickjs") as others:
            others.adopt("1", FOUR)
            answer = await continued(kit, others, second)
    assert answer.outcome is not None
    assert answer.outcome.text == "BudgetExceeded"
    assert set(kit.begun) == {1, 2, 3}
    assert second.used("requests") == around.used("requests") == 3


async def continued(kit: Kit, cells: BackgroundCells, account: Account) -> CellAnswer:
    """Return the answer after another time slice of the first cell, which draws on an account."""
    for n in range(2, 5):  # the calls end during the time slice
        asyncio.get_running_loop().call_later(0.1, kit.let, n)
    with account.use():
        return await cells.wait("1", 30)


async def test_an_account_counts_what_a_call_in_flight_uses_in_a_later_time_slice(kit: Kit) -> None:
    kit.tokens = 5
    around = Account(Budget())
    first, second = (Account(Budget(tokens=5), around) for _ in range(2))
    code = "await kit.slow({n: 1}); await kit.slow({n: 2}).catch(error => error.name)"
    async with kit.cells("quickjs") as cells:
        with first.use():
            await cells.eval(code, yield_after=0.05)
        with second.use():
            await cells.wait("1", 0.05)
            kit.let(1)
            answer = await cells.wait("1", 30)
    assert answer.outcome is not None
    assert answer.outcome.text == "BudgetExceeded"
    assert second.used("tokens") == around.used("tokens") == 5
    assert kit.begun == [1]


@attrs.define(eq=False)
class FailingStore(MemoryJournalStore):
    """Lets a call end while its cell is suspended, and then fails to record the answer once."""

    kit: Kit = attrs.field(kw_only=True)
    failed: bool = attrs.field(default=False, init=False)

    async def append(self, index: int, entry: Any) -> None:
        if "kept" in entry and not entry["kept"]["settled"]:
            self.kit.let(1)
            await asyncio.sleep(0.05)  # it is settled
        elif "kept" in entry and not self.failed:
            self.failed = True
            raise OSError("the database is not there")
        await super().append(index, entry)


async def test_an_answer_that_cannot_be_recorded_at_a_suspension_is_not_lost(kit: Kit) -> None:
    """Found by the simulation of seed 138: the next time slice made the call again."""
    store = FailingStore("cell 1", kit=kit)
    kit.stores["1"] = store
    with Account(Budget(requests=9)).use():
        async with kit.cells("quickjs") as cells:
            answer = await cells.eval("await kit.slow({n: 1})", yield_after=0.01)
            assert answer.outcome is None
            assert store.failed
            answer = await cells.wait("1", 5)
    assert answer.outcome is not None
    assert answer.outcome.text == "1"
    assert kit.begun == [1]


async def test_a_call_that_ends_between_time_slices_is_recorded_at_once(kit: Kit) -> None:
    async with kit.cells("quickjs") as cells:
        await cells.eval("await kit.slow({n: 1})", yield_after=0)
        kit.let(1)
        await until(lambda: any("kept" in entry for entry in kit.store("1")._entries.values()))
        assert cells.running == "1"


async def test_a_terminated_cell_leaves_nothing_running(kit: Kit, engine: str) -> None:
    async with kit.cells(engine) as cells:
        await cells.eval(
            of({"javascript": "var total = 40", "python": "total = 40"}, engine), yield_after=30
        )
        running = await cells.eval(of(COUNT, engine), yield_after=0.05)
        answer = await cells.terminate(running.id)
        assert answer.missing.startswith(
            f"cell {running.id}: it was terminated; calls in flight were cancelled, and may have "
            "had their effects: kit.slow("
        )
        assert answer.missing.endswith("; no cell is running")
        assert (kit.begun, kit.cancelled) == ([1], [1])
        kit.let(1)
        again = await cells.eval(of(COUNT, engine), yield_after=30)
        assert again.outcome is not None
        assert again.outcome.text == "41", "the changes of the terminated cell are undone"
        assert (await cells.wait(running.id, 0)).missing.startswith(
            f"cell {running.id}: it was term"
        )


async def test_an_approval_is_asked_for_in_the_time_slice_that_reaches_it(
    kit: Kit, engine: str
) -> None:
    code = {
        "javascript": "const n = await kit.slow({n: 1}); await kit.pay({n})",
        "python": "n = await kit.slow(n=1)\nawait kit.pay(n=n)",
    }
    async with kit.cells(engine) as cells:
        first = await cells.eval(of(code, engine), yield_after=0.05)
        kit.let(1)
        await until(lambda: kit.ended == [1])
        with pytest.raises(Asks):
            await cells.wait(first.id, 30)
        with pytest.raises(Asks):
            await cells.wait(first.id, 30)
        kit.approved = True
        answer = await cells.wait(first.id, 30)
        assert answer.outcome is not None
        assert answer.outcome.text.strip("'\"") == "paid 1"
        assert (kit.begun, kit.paid) == ([1], [1])


async def test_one_cell_and_one_observer_at_a_time(kit: Kit) -> None:
    async with kit.cells("quickjs") as cells:
        first = await cells.eval("await kit.slow({n: 1})", yield_after=0)
        with pytest.raises(ConfigurationError, match=r"cell 1 of session .* is still running"):
            await cells.eval("1", yield_after=1)
        looking = asyncio.ensure_future(cells.wait(first.id, 30))
        await until(lambda: cells._cell is not None and cells._cell.time_slice is not None)
        with pytest.raises(ConfigurationError, match="another caller waits for cell 1"):
            await cells.wait(first.id, 0)
        assert (
            await cells.wait("7", 0)
        ).missing == "cell 7: there is no such cell; cell 1 is running"
        kit.let(1)
        assert (await looking).outcome is not None


@pytest.mark.parametrize("seconds", ["2", -1, float("nan"), None, True])
async def test_wrong_seconds_take_nothing(kit: Kit, seconds: Any) -> None:
    async with kit.cells("quickjs") as cells:
        with pytest.raises(ConfigurationError, match="yield_after must be a number of seconds"):
            await cells.eval("1", yield_after=seconds)
        assert cells.running is None
        ended = await cells.eval("2", yield_after=30)
        assert (ended.id, ended.outcome and ended.outcome.text) == ("1", "2")


async def test_code_and_ids_that_are_no_text_are_refused(kit: Kit) -> None:
    async with kit.cells("quickjs") as cells:
        wrong: Any = 1
        with pytest.raises(ConfigurationError, match="code must be a string; got 1"):
            await cells.eval(wrong, yield_after=1)
        assert cells.running is None
        for call in (cells.wait(wrong, 1), cells.terminate(wrong)):
            with pytest.raises(ConfigurationError, match="id must be a string"):
                await call
        with pytest.raises(ConfigurationError, match="id must be a string"):
            cells.adopt(wrong, "1")


async def test_what_cannot_have_such_cells_is_refused() -> None:
    wrong: Any = "x"
    with pytest.raises(ConfigurationError, match="takes a session"):
        BackgroundCells(wrong)
    async with InterpreterStack("quickjs") as stack, stack.session() as session:
        with pytest.raises(ConfigurationError, match="needs the plugin 'durable'"):
            BackgroundCells(session)
    module = interpstack_durable
    async with InterpreterStack("quickjs", [module]) as stack, stack.session() as session:
        cells = BackgroundCells(session)
        with pytest.raises(ConfigurationError, match="not bound to these cells"):
            await cells.eval("1", yield_after=1)
        assert cells.running is None


async def test_another_eval_of_the_session_is_refused_and_changes_nothing(kit: Kit) -> None:
    bridges = [Bridge(name="kit.slow", handler=kit.slow)]
    async with (
        InterpreterStack("quickjs", ["durable"], bridges=bridges) as stack,
        stack.session() as session,
    ):
        cells = BackgroundCells(session, kit.store)
        session.bind(HostOffer(parts=[cells.journals]))
        first = await cells.eval("await kit.slow({n: 1})", yield_after=0)
        with pytest.raises(
            ConfigurationError, match=f"cell {first.id} of session .* still running"
        ):
            await session.eval("2")
        kit.let(1)
        ended = await cells.wait(first.id, 30)
        assert ended.outcome is not None
        assert ended.outcome.text == "1"
        assert (await session.eval("3")).text == "3"
        assert kit.begun == [1]


async def test_terminate_ends_the_time_slice_of_an_observer(kit: Kit) -> None:
    async with kit.cells("quickjs") as cells:
        first = await cells.eval("await kit.slow({n: 1})", yield_after=0)
        looking = asyncio.ensure_future(cells.wait(first.id, 3000))
        await until(lambda: cells._cell is not None and cells._cell.time_slice is not None)
        await asyncio.sleep(0.05)
        assert "it was terminated" in (await cells.terminate(first.id)).missing
        assert (await looking).outcome is None
        assert kit.cancelled == [1]


async def test_a_cell_that_ends_by_itself_is_not_terminated(kit: Kit) -> None:
    async with kit.cells("quickjs") as cells:
        looking = asyncio.ensure_future(cells.eval("await kit.slow({n: 1})", yield_after=3000))
        await until(lambda: kit.begun == [1])
        kit.let(1)
        await until(lambda: kit.ended == [1])
        answer_to_end = await cells.terminate("1")
        answer: CellAnswer = await looking
        assert answer.outcome is None or answer.outcome.text == "1"
        assert ("it has ended" in answer_to_end.missing) == (answer.outcome is not None)


async def test_a_cancelled_time_slice_loses_no_call(kit: Kit) -> None:
    async with kit.cells("quickjs") as cells:
        looking = asyncio.ensure_future(cells.eval("await kit.slow({n: 1})", yield_after=3000))
        await until(lambda: kit.begun == [1])
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking
        assert (kit.cancelled, cells.running) == ([], "1")
        kit.let(1)
        answer = await cells.wait("1", 30)
        assert answer.outcome is not None
        assert (answer.outcome.text, kit.begun) == ("1", [1])


async def test_timers_count_between_time_slices(kit: Kit) -> None:
    async with kit.cells("quickjs") as cells:
        first = await cells.eval(SLEEP, yield_after=0)
        assert first.waits_for == ("a timer",)
        for _ in range(40):
            answer = await cells.wait(first.id, 0.03)
            if answer.outcome is not None:
                break
        assert answer.outcome is not None, (
            "time slices that are shorter than a timer do not restart it"
        )
        assert answer.outcome.text == "awake"


async def test_the_wall_limit_holds_over_all_time_slices(kit: Kit, engine: str) -> None:
    async with kit.cells(engine, wall_seconds=2.0) as cells:
        first = await cells.eval(of(SLOW, engine), yield_after=0)
        await until(lambda: kit.cancelled == [1])
        answer = await cells.wait(first.id, 30)
        assert answer.outcome is not None
        assert answer.outcome.error is not None
        assert answer.outcome.error.name == "Timeout"
        assert "2 s in total" in answer.outcome.error.message
        assert kit.begun == [1]


async def test_the_wall_limit_ends_the_calls_of_earlier_time_slices(kit: Kit) -> None:
    async with kit.cells("quickjs", wall_seconds=1.0) as cells:
        first = await cells.eval("await kit.slow({n: 1})", yield_after=0)
        answer = await cells.wait(first.id, 30)
        assert answer.outcome is not None
        assert answer.outcome.error is not None
        assert answer.outcome.error.name == "Timeout"
        await until(lambda: kit.cancelled == [1])
    assert (kit.begun, kit.ended) == ([1], [])


async def test_closing_the_cells_ends_their_calls(kit: Kit) -> None:
    async with kit.cells("quickjs") as cells:
        await cells.eval("await kit.slow({n: 1})", yield_after=0)
    assert kit.cancelled == [1]


async def test_a_session_that_closes_ends_its_calls(kit: Kit) -> None:
    bridges = [Bridge(name="kit.slow", handler=kit.slow)]
    async with InterpreterStack("quickjs", ["durable"], bridges=bridges) as stack:
        session = stack.session("a")
        cells = BackgroundCells(session)
        session.bind(HostOffer(parts=[cells.journals]))
        await cells.eval("await kit.slow({n: 1})", yield_after=0)
        await session.aclose()
        assert (kit.cancelled, cells.running) == ([1], None)


async def test_a_hundred_cells_at_once(kit: Kit) -> None:
    async def one(n: int, stack: InterpreterStack) -> str:
        async with stack.session() as session:
            cells = BackgroundCells(session)
            session.bind(HostOffer(parts=[cells.journals]))
            answer = await cells.eval(f"await kit.slow({{n: {n}}})", yield_after=0)
            while answer.outcome is None:
                kit.let(n)
                answer = await cells.wait(answer.id, 0.05)
            return answer.outcome.text

    bridges = [Bridge(name="kit.slow", handler=kit.slow)]
    async with InterpreterStack("quickjs", ["durable"], bridges=bridges) as stack:
        said = await asyncio.gather(*(one(n, stack) for n in range(100)))
    assert said == [str(n) for n in range(100)]
    assert sorted(kit.begun) == list(range(100))


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
async def test_functions_classes_and_maps_live_on(kit: Kit, engine: str) -> None:
    """Those of earlier cells and of the cell itself, over any number of time slices."""
    async with kit.cells(engine) as cells:
        await cells.eval(LIVE, yield_after=30)
        answer = await cells.eval(USES_LIVE, yield_after=0)
        for n in (2, 3):
            for _ in range(2):
                while n not in kit.begun:
                    answer = await cells.wait(answer.id, 0.05)
                assert (await cells.wait(answer.id, 0)).outcome is None
            kit.let(n)
        ended = (await cells.wait(answer.id, 30)).outcome
        assert ended is not None
        assert (ended.text, ended.error, ended.notices) == ("2,3,8,5,4", None, ())
        assert kit.begun == [2, 3]
        after = (await cells.eval("count() + pairs.get('a').twice()", yield_after=30)).outcome
        assert after is not None
        assert (after.text, after.notices) == ("13", ())


@pytest.mark.parametrize("engine", ["quickjs", "v8"])
async def test_calls_of_a_later_time_slice_are_made_for_its_caller(kit: Kit, engine: str) -> None:
    async with kit.cells(engine) as cells:
        caller.set("first")
        first = await cells.eval(SLOW["javascript"], yield_after=0.05, host=1)
        kit.let(1)
        caller.set("second")
        while 2 not in kit.begun:
            await cells.wait(first.id, 0.5, host=2)
        kit.let(2)
        assert (await cells.wait(first.id, 30, host=3)).outcome is not None
        assert kit.callers == [("first", 1), ("second", 2)]


@pytest.mark.parametrize("engine", ["v8", "node"])
async def test_functions_live_on_over_an_approval(kit: Kit, engine: str) -> None:
    code = "await kit.slow({n: count()}); (await kit.pay({n: count()})) + count()"
    kit.let(1)
    async with kit.cells(engine) as cells:
        await cells.eval(LIVE, yield_after=30)
        with pytest.raises(Asks):
            await cells.eval(code, yield_after=3000)
        with pytest.raises(Asks):
            await cells.wait("2", 30)
        kit.approved = True
        ended = (await cells.wait("2", 30)).outcome
        assert ended is not None
        assert (ended.text, ended.notices) == ("paid 23", ())
        assert (kit.begun, kit.paid) == ([1], [2])


@pytest.mark.parametrize("engine", ["v8", "node"])
async def test_a_cell_that_is_not_kept_goes_on_by_its_journal(kit: Kit, engine: str) -> None:
    async with kit.cells(engine) as cells:
        first = await cells.eval(SLOW["javascript"], yield_after=0.05)
        kit.let(1)
        while 2 not in kit.begun:
            await cells.wait(first.id, 0.5)
        forget_kept(cells)
        kit.let(2)
        ended = (await cells.wait(first.id, 30)).outcome
        assert ended is not None
        assert (ended.text, ended.console, kit.begun) == ("3", "begun\nhalf", [1, 2])


@pytest.mark.parametrize("engine", ["v8", "node"])
async def test_a_cell_that_has_ended_leaves_no_live_realm(kit: Kit, engine: str) -> None:
    async with kit.cells(engine) as cells:
        stack: Any = cells._session.stack
        kept = stack.engine._kept
        first = await cells.eval("await kit.slow({n: 1})", yield_after=0)
        assert len(kept) == 1
        await cells.terminate(first.id)
        assert len(kept) == 0
        second = await cells.eval("await kit.slow({n: 2})", yield_after=0)
        kit.let(2)
        assert (await cells.wait(second.id, 30)).outcome is not None
        assert len(kept) == 0
        await cells.eval("await kit.slow({n: 3})", yield_after=0)
        await cells._session.aclose()
        assert len(kept) == 0


NOT_RESTORED = "Variables of earlier cells were restored from their values. Not restored: double."


@pytest.mark.parametrize("engine", ["v8", "node"])
async def test_functions_that_are_lost_with_a_live_realm_are_named(kit: Kit, engine: str) -> None:
    """Also by a cell that does not use them; plain values stay over any number of time slices."""
    async with kit.cells(engine) as cells:
        await cells.eval("var one = 1; var double = n => 2 * n", yield_after=30)
        first = await cells.eval("one + await kit.slow({n: 1})", yield_after=0)
        for _ in range(2):
            assert (await cells.wait(first.id, 0)).outcome is None
        forget_kept(cells)
        kit.let(1)
        ended = (await cells.wait(first.id, 30)).outcome
        assert ended is not None
        assert (ended.text, ended.notices) == ("2", (NOT_RESTORED,))


async def test_nothing_is_named_where_nothing_is_lost(kit: Kit, engine: str) -> None:
    one = {"javascript": "var one = 1", "python": "one = 1"}
    code = {"javascript": "one + await kit.slow({n: 1})", "python": "one + await kit.slow(n=1)"}
    async with kit.cells(engine) as cells:
        await cells.eval(of(one, engine), yield_after=30)
        first = await cells.eval(of(code, engine), yield_after=0)
        kit.let(1)
        ended = (await cells.wait(first.id, 30)).outcome
        assert ended is not None
        assert (ended.text, ended.notices) == ("2", ())


@pytest.mark.parametrize("before", ["", "await kit.slow({n: 3}); "], ids=["first", "later"])
@pytest.mark.parametrize("engine", ["v8", "node"])
async def test_a_cell_that_calls_a_lost_function_diverges(
    kit: Kit, engine: str, before: str
) -> None:
    kit.let(3)
    async with kit.cells(engine) as cells:
        await cells.eval("var double = n => 2 * n", yield_after=30)
        code = f"double(1); {before}await kit.slow({{n: 1}})"
        looking = asyncio.ensure_future(cells.eval(code, yield_after=3000))
        await until(lambda: kit.begun[-1:] == [1])
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking
        cell = cells.running
        assert cell is not None
        forget_kept(cells)
        for _ in range(2):
            with pytest.raises(ReplayDivergence) as caught:
                await cells.wait(cell, 30)
            assert "but the recorded run asked for kit.slow(" in str(caught.value)
            assert "; the code ended with Error: Value for 'double' was not" in str(caught.value)
        assert kit.begun[-1] == 1
        assert kit.cancelled == []
        await cells.terminate(cell)
        assert kit.cancelled == [1]


SHOW = {
    "javascript": "await kit.show({n: 1}); await kit.slow({n: 1}); await kit.show({n: 2});"
    "await kit.show({n: 3}); await kit.slow({n: 2}); await kit.show({n: 4})",
    "python": "await kit.show(n=1)\nawait kit.slow(n=1)\nawait kit.show(n=2)\n"
    "await kit.show(n=3)\nawait kit.slow(n=2)\nawait kit.show(n=4)",
}


async def test_attachments_come_with_the_time_slice_that_reached_them(
    kit: Kit, engine: str
) -> None:
    async with kit.cells(engine) as cells:
        answer = await cells.eval(of(SHOW, engine), yield_after=0.1)
        for n, seen in ((1, (1,)), (2, (2, 3))):
            shown = answer.attachments if n == 1 else ()
            while n not in kit.begun:  # a busy machine needs several time slices
                answer = await cells.wait(answer.id, 0.5)
                shown += answer.attachments
            assert (answer.outcome, shown) == (None, seen)
            assert (await cells.wait(answer.id, 0)).attachments == ()
            kit.let(n)
        last = await cells.wait(answer.id, 30)
        assert last.attachments == (4,)
        assert last.outcome is not None
        assert last.outcome.attachments == (1, 2, 3, 4)


async def test_what_a_call_shows_before_its_time_slice_ends_is_shown_once(
    kit: Kit, engine: str
) -> None:
    code = {
        "javascript": "await kit.show_slowly({n: 1}); 'seen'",
        "python": "await kit.show_slowly(n=1)\n'seen'",
    }
    async with kit.cells(engine) as cells:
        answer = await cells.eval(of(code, engine), yield_after=0.1)
        answers = [answer]
        while not kit.begun:  # a busy machine needs several time slices
            answers.append(await cells.wait(answer.id, 0.5))
        kit.let(1)
        answers.append(await cells.wait(answer.id, 30))
        assert [one.attachments for one in answers if one.attachments] == [(1,)]
        assert "".join(one.console for one in answers) == "shown 1"
        outcome = answers[-1].outcome
        assert outcome is not None
        assert (outcome.text, outcome.attachments, outcome.console) == ("seen", (1,), "shown 1")


async def test_what_was_shown_before_a_question_is_shown_once(kit: Kit, engine: str) -> None:
    code = {
        "javascript": "const shown = kit.show({n: 1}); await kit.pay({n: 2}); await shown; 'seen'",
        "python": "import asyncio\nawait asyncio.gather(kit.show(n=1), kit.pay(n=2))\n'seen'",
    }
    async with kit.cells(engine) as cells:
        with pytest.raises(Asks):
            await cells.eval(of(code, engine), yield_after=30)
        kit.approved = True
        (cell,) = kit.stores
        outcome = (await cells.wait(cell, 30)).outcome
        assert outcome is not None
        assert (outcome.text, outcome.attachments) == ("seen", (1,))


async def test_a_cell_that_is_refused_is_not_at_work(kit: Kit) -> None:
    async with kit.cells("quickjs", source_bytes=20) as cells:
        with pytest.raises(ConfigurationError, match="the code has 30 bytes"):
            await cells.eval(" " * 30, yield_after=1)
        assert cells.running is None
        assert "it was refused, and never ran" in (await cells.wait("1", 0)).missing
        assert (await cells.eval("1", yield_after=30)).id == "2"


async def test_a_closed_session_runs_no_cell(kit: Kit) -> None:
    bridges = [Bridge(name="kit.slow", handler=kit.slow)]
    stack = InterpreterStack("quickjs", ["durable"], bridges=bridges)
    session = stack.session("a")
    cells = BackgroundCells(session)
    session.bind(HostOffer(parts=[cells.journals]))
    await cells.eval("await kit.slow({n: 1})", yield_after=0)
    await stack.aclose()
    for _ in range(2):
        with pytest.raises(SessionClosed):
            await cells.eval("1", yield_after=1)


async def test_cells_of_more_sessions_than_kernels(kit: Kit) -> None:
    """Kernels between time slices stay within their number, and values stay without them."""
    async with AsyncExitStack() as opened:
        bridges = [Bridge(name="kit.slow", handler=kit.slow)]
        engine = NodeEngine(kernels=2, prestarted=0)
        stack = await opened.enter_async_context(
            InterpreterStack(engine, ["durable"], bridges=bridges)
        )
        waiting = list[tuple[BackgroundCells, str]]()
        for n in range(6):
            session = await opened.enter_async_context(stack.session())
            cells = BackgroundCells(session)
            session.bind(HostOffer(parts=[cells.journals]))
            await cells.eval(f"var base = {10 * n}", yield_after=30)
            first = await cells.eval(f"base + await kit.slow({{n: {n}}})", yield_after=0)
            assert first.outcome is None
            assert engine.pool.resident <= 2
            waiting.append((cells, first.id))
        said = list[str]()
        for n, (cells, cell) in enumerate(waiting):
            kit.let(n)
            ended = (await cells.wait(cell, 60)).outcome
            said.append(f"{ended and ended.text}")
            assert engine.pool.resident <= 2
    assert said == [str(11 * n) for n in range(6)]
    assert sorted(kit.begun) == list(range(6))
