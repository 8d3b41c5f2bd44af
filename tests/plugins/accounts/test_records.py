"""What calls of a cell draw by cells of their own is recorded before they act."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import attrs
import pytest
from journal_stores import Ordered

from interpstack import (
    Bridge,
    CellContext,
    HostOffer,
    InterpreterStack,
    Outcome,
    run_sync,
)
from interpstack_accounts.api import Account, Budget, record_drawn, record_drawn_soon
from interpstack_accounts.records import SpendingRun, Spent, read_spent
from interpstack_durable.api import Journals


@attrs.define(eq=False)
class Memory(Ordered):
    """A journal's store, which may be slow or fail with records of amounts."""

    fails: bool = False
    slow: float = 0.0

    async def append_spent(self, record: Any) -> None:
        await asyncio.sleep(self.slow)
        if self.fails:
            raise ConnectionError("the store is gone")
        await super().append_spent(record)


@attrs.define(eq=False)
class Host:
    """Offers `kit.kid`, which runs a cell of its own; each `run` is a process of its own.

    Attributes:
        outer: The journal of the cell.
        inner: Those of the cells that kids run, by the key of the kid.
        done: Keys of calls that kids made, with the requests in the outer journal by then.
        dies_at: How much is done when the process dies: what it leaves is noted.
        left: What it left.
        budget: Of each kid's own account, if it has one.
        in_thread: Whether kids run their cells in threads of their own.
    """

    outer: Memory = attrs.field(factory=lambda: Memory("outer"))
    inner: dict[str, Memory] = attrs.field(factory=dict)
    done: list[tuple[str, float]] = attrs.field(factory=list)
    dies_at: int | None = None
    left: Any = None
    budget: Budget | None = None
    in_thread: bool = False

    async def act(self, n: int, context: CellContext) -> int:
        answers = self.outer.records[-1]["drawn"].get("requests", 0) if self.outer.records else 0
        self.done.append((context.call_key, answers))
        if len(self.done) == self.dies_at:
            self.left = copy.deepcopy((self.outer, self.inner, self.done))
        return n

    async def kid(self, calls: int, context: CellContext) -> str:
        memory = self.inner.setdefault(context.call_key, Memory(context.call_key))
        source = f"""
        const all = await Promise.allSettled(
          Array.from({{length: {calls}}}, (_, n) => kit.act({{n}})));
        all.map(one => one.reason?.name ?? "made").join()
        """
        account = Account.current()
        assert account is not None
        own = account if self.budget is None else Account(self.budget, account)
        with own.use():
            run = self._eval(memory, source, "kit.act", self.act)
            answers = await (asyncio.to_thread(run_sync, run) if self.in_thread else run)
        return answers.text if answers.error is None else answers.error.name

    async def run(self, source: str, account: Account) -> Outcome:
        with account.use():
            return await self._eval(self.outer, source, "kit.kid", self.kid)

    async def _eval(self, memory: Memory, source: str, name: str, handler: Any) -> Outcome:
        bridges = [Bridge(name=name, handler=handler)]
        with InterpreterStack("quickjs", ["accounts", "durable"], bridges=bridges) as stack:
            session = stack.session()
            session.bind(HostOffer(parts=[Journals(lambda host: memory)]))
            return await session.eval(source)


KIDS = """
const seen = []
for (let i = 0; i < 3; i++)
  try { seen.push(await kit.kid({calls: 3})) } catch (e) { seen.push(e.name) }
seen.join()
"""


@pytest.mark.parametrize("in_thread", [False, True], ids=["on the loop", "in a thread"])
@pytest.mark.parametrize("budget", [None, Budget(), Budget(requests=2)])
@pytest.mark.parametrize("deaths", [[], [1], [2, 4], [1, 2, 3, 4]])
async def test_what_inner_cells_drew_counts_in_another_process(
    deaths: list[int], budget: Budget | None, in_thread: bool
) -> None:
    """Three kids of three calls each: with six requests, four are made, not more and not fewer."""
    host = Host(budget=budget, in_thread=in_thread)
    for dies_at in deaths:
        host.dies_at = dies_at
        await host.run(KIDS, Account(Budget(requests=6)))
        host.outer, host.inner, host.done = host.left
    host.dies_at = None
    account = Account(Budget(requests=6))
    outcome = await host.run(KIDS, account)
    assert len({key for key, _ in host.done}) == 4
    assert account.used("requests") == 6
    assert outcome.text.endswith("BudgetExceeded")


async def test_a_request_is_in_the_outer_journal_before_it_is_made() -> None:
    host = Host()
    await host.run(KIDS, Account(Budget(requests=20)))
    # Of the first kid: itself, and three calls that one write covers.
    assert [answers for _, answers in host.done[:3]] == [4, 4, 4]
    assert [answers for _, answers in host.done[3:6]] == [8, 8, 8]
    assert len(host.outer.records) <= 6
    assert all(memory.records == [] for memory in host.inner.values())


async def test_a_call_is_not_made_where_it_cannot_be_recorded() -> None:
    host = Host(outer=Memory("outer", fails=True))
    outcome = await host.run("await kit.kid({calls: 2})", Account(Budget(requests=20)))
    assert outcome.text == "ToolError,ToolError"
    assert host.done == []


async def test_many_calls_at_once_are_few_records() -> None:
    host = Host(outer=Memory("outer", slow=0.01))
    await host.run("await kit.kid({calls: 100})", Account(Budget(requests=200)))
    assert len(host.done) == 100
    assert len(host.outer.records) < 10
    known = [key for record in host.outer.records for key in record["known"]]
    assert len(known) == len(set(known)) == 103  # the cells and their requests


# -- accounts ------------------------------------------------------------------------------


def test_calls_under_way_count_as_the_dearest_one() -> None:
    parent = Account(Budget(tokens=100))
    account = Account(Budget(), parent)
    account.expect(+1)
    assert parent.spent()[0].drawn == {}, "nothing is known yet"
    account.expect(-1)
    account.spend({"tokens": 30}, calls=1)
    account.expect(+2)
    account.spend({"tokens": 10}, calls=1)
    spent, known = parent.spent()
    assert (dict(spent.drawn), dict(spent.dearest), known) == ({"tokens": 100}, {"tokens": 30}, 0)
    assert parent.left("tokens") == 60, "it is no reservation"
    other = Account(Budget(tokens=100))
    other.restore(spent.drawn, spent.known, spent.dearest)
    assert other.left("tokens") == 0
    other.expect(+1)
    assert other.spent()[0].drawn["tokens"] == 130


def test_what_a_parent_knows_is_drawn_on_the_child_alone() -> None:
    parent = Account(Budget(requests=2))
    parent.restore({"requests": 1}, ["cell:1"])
    child = Account(Budget(requests=5), parent)
    child.reserve({"requests": 1}, once="cell:1")
    assert (parent.used("requests"), child.used("requests")) == (1, 1)
    child.reserve({"requests": 1}, once="cell:2")
    child.reserve({"requests": 1}, once="cell:2")
    assert (parent.used("requests"), child.used("requests")) == (2, 2)
    assert parent.spent(since=1)[0].known == ("cell:2",)


def test_the_last_record_of_each_run_counts() -> None:
    def spent(tokens: float, *known: str) -> Any:
        made = Account(Budget())
        made.restore({"tokens": tokens}, known, {"tokens": 5})
        return made.spent()[0]

    first, second = SpendingRun(), SpendingRun()
    records = [first.record(spent(50, "a")), first.record(spent(40, "b"))]
    records += [second.record(spent(45, "a", "c"))]
    for order in (records, records[::-1]):
        answers = read_spent(order)
        assert answers is not None
        assert dict(answers.drawn) == {"tokens": 45}, "a call under way had reported 50"
        assert set(answers.known) == {"a", "b", "c"}
        assert dict(answers.dearest) == {"tokens": 5}
    assert read_spent([]) is None


async def test_outside_of_cells_nothing_is_recorded() -> None:
    await record_drawn()
    record_drawn_soon()


def test_records_of_other_plugins_hold_no_amounts() -> None:
    other = {"run": "of another", "number": 7, "traceparent": "00-1-1-01"}
    own = SpendingRun("mine").record(Spent(drawn={"requests": 2}))
    found = read_spent([other, own])
    assert found is not None
    assert (found.drawn, found.known) == ({"requests": 2}, ())
    assert read_spent([other]) is None
