from __future__ import annotations

import asyncio
import json
import math
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import (
    Bridge,
    Cell,
    CellContext,
    ConfigurationError,
    Limits,
    bridge,
)
from interpstack_accounts import accounts
from interpstack_accounts.api import Account, Budget, BudgetExceeded

MakeSession = Callable[..., Any]

_KINDS = ["requests", "dispatches", "tool_requests:f", "cost"]


# -- budgets -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tool_requests", "token", ""])
def test_unknown_kinds_are_refused_with_the_known_ones(kind: str) -> None:
    account = Account(Budget())
    for use in (account.used, account.left, lambda k: account.reserve({k: 1})):
        with pytest.raises(ConfigurationError, match=r"unknown kind .* known: cpu_seconds, "):
            use(kind)


@pytest.mark.parametrize("amount", [-1, math.nan, math.inf, True])
def test_only_amounts_are_drawn(amount: float) -> None:
    account = Account(Budget(requests=5))
    for draw in (account.reserve, account.spend, lambda a: account.take("requests", a["requests"])):
        with pytest.raises(ConfigurationError, match="requests takes an amount of at least 0"):
            draw({"requests": amount})
    assert account.used("requests") == 0


# -- trees ---------------------------------------------------------------------------------

_limits = st.none() | st.integers(1, 12)
_budgets = st.builds(
    lambda requests, dispatches, tool, cost: Budget(
        requests=requests,
        dispatches=dispatches,
        cost=cost,
        tool_requests={} if tool is None else {"f": tool},
    ),
    *[_limits] * 4,
)
_amounts = st.dictionaries(st.sampled_from(_KINDS), st.integers(0, 4), max_size=3)


@st.composite
def _trees(draw: Any) -> list[Account]:
    nodes = [Account(draw(_budgets))]
    for _ in range(draw(st.integers(0, 5))):
        nodes.append(Account(draw(_budgets), draw(st.sampled_from(nodes))))
    return nodes


def _path(account: Account) -> list[Account]:
    return [account] if account.parent is None else [account, *_path(account.parent)]


def _state(nodes: list[Account]) -> list[list[float]]:
    return [[node.used(kind) for kind in _KINDS] for node in nodes]


@given(st.data())
def test_a_reservation_is_drawn_everywhere_or_nowhere(data: Any) -> None:
    nodes = data.draw(_trees())
    for index, amounts in data.draw(st.lists(st.tuples(st.integers(0, 5), _amounts), max_size=30)):
        account = nodes[index % len(nodes)]
        before = _state(nodes)
        fits = all(
            limit is None or node.used(kind) + amounts.get(kind, 0) <= limit
            for node in _path(account)
            for kind in _KINDS
            if kind in amounts and (limit := node.budget.limit(kind)) is not None
        )
        used_up = account.left("cost") == 0 or any(account.left(kind) == 0 for kind in amounts)
        if used_up or not fits:
            with pytest.raises(BudgetExceeded) as info:
                account.reserve(amounts)
            assert _state(nodes) == before
            assert info.value.limit in [n.budget.limit(info.value.kind) for n in _path(account)]
            continue
        account.reserve(amounts)
        for node, old in zip(nodes, before, strict=True):
            drawn = [new - was for new, was in zip(_state([node])[0], old, strict=True)]
            expected = amounts if node in _path(account) else {}
            assert drawn == [expected.get(kind, 0) for kind in _KINDS]


@given(_trees(), st.integers(1, 3))
def test_reservations_at_once_never_exceed_any_account(nodes: list[Account], amount: int) -> None:
    granted: list[Account] = []

    def work(account: Account) -> None:
        for _ in range(6):
            try:
                account.reserve({"requests": amount, "tool_requests:f": 1})
            except BudgetExceeded:
                continue
            granted.append(account)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, nodes * 2))
    for node in nodes:
        drawn = sum(node in _path(account) for account in granted)
        assert (node.used("requests"), node.used("tool_requests:f")) == (drawn * amount, drawn)
        for kind in ("requests", "tool_requests:f"):
            limit = node.budget.limit(kind)
            assert limit is None or node.used(kind) <= limit
    for node in nodes:  # and nothing that fits was refused
        left = node.left("requests"), node.left("tool_requests:f")
        refused = sum(n is node for n in nodes) * 12 > sum(a is node for a in granted)
        if refused and None not in left:
            assert left[0] < amount or left[1] < 1


def test_what_is_left_is_what_the_tightest_account_has() -> None:
    root = Account(Budget(requests=5, tokens=10), name="the turn")
    child = Account(Budget(requests=3), root, "the subagent")
    child.reserve({"requests": 2})
    assert (child.left("requests"), root.left("requests"), child.left("cost")) == (1, 3, None)
    root.reserve({"requests": 3})
    with pytest.raises(BudgetExceeded, match=r"^the budget of the turn is used up: 5 of 5 req"):
        child.reserve({"requests": 1})
    child.spend({"tokens": 25})
    assert (root.used("tokens"), root.left("tokens")) == (25, 0)
    with pytest.raises(BudgetExceeded, match="25 of 10 tokens"):
        child.reserve({})
    with pytest.raises(ConfigurationError, match="cost has no limit"):
        child.exceeded("cost")


def test_an_error_says_what_was_asked_for_if_something_is_left() -> None:
    with pytest.raises(BudgetExceeded) as info:
        Account(Budget(cost=2.5)).reserve({"cost": 3})
    assert str(info.value) == (
        "the budget has too little left for this call: 0 of 2.5 cost used, 3 asked for"
    )
    assert (info.value.kind, info.value.limit, info.value.left) == ("cost", 2.5, 2.5)


@given(st.data())
def test_held_amounts_count_until_their_call_has_ended(data: Any) -> None:
    """Calls that say the most that they may use exceed no limit, however they draw together."""
    root = Account(Budget(tokens=data.draw(st.integers(1, 60))), name="root")
    inner = [Account(Budget(tokens=data.draw(st.integers(1, 30))), root, n) for n in "ab"]
    accounts = [root, *inner, Account.drawing_on(inner)]
    flying: list[tuple[Any, int]] = []
    for index, most in data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20)))):
        if len(flying) < 6 and index % 2 == 0:
            account, before = accounts[index], [one.left("tokens") for one in accounts]
            try:
                flying.append((account.hold({"tokens": most}), most))
            except BudgetExceeded:
                assert [one.left("tokens") for one in accounts] == before
        elif flying:
            held, most = flying.pop()
            used = data.draw(st.integers(0, most))
            held.commit({"tokens": used}) if used else held.release()
        assert all(one.used("tokens") <= (one.budget.limit("tokens") or 0) for one in accounts[:3])
    for held, most in flying:
        held.commit({"tokens": most})
        held.release()
    assert root.left("tokens") == (root.budget.limit("tokens") or 0) - root.used("tokens")


def test_another_thread_never_sees_the_use_of_a_call_beside_its_reserved_amount() -> None:
    """At every line of `commit`, another thread holds what fits before and after it."""
    account = Account(Budget(tokens=10))
    held = account.hold({"tokens": 6})
    refused: list[BudgetExceeded] = []
    holders: list[threading.Thread] = []

    def hold() -> None:
        try:
            account.hold({"tokens": 4}).release()
        except BudgetExceeded as error:
            refused.append(error)

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if not any(one.is_alive() for one in holders):
            holders.append(threading.Thread(target=hold))
            holders[-1].start()
            holders[-1].join(0.1)  # one that waits for a lock holds its amount later
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        held.commit({"tokens": 6})
    finally:
        sys.settrace(before)
    for one in holders:
        one.join()
    assert len(holders) > 1
    assert refused == []
    assert account.left("tokens") == 4


def test_a_parent_of_several_accounts_is_drawn_on_once() -> None:
    root = Account(Budget(tokens=9))
    left, right = Account(Budget(), root), Account(Budget(tokens=5), root, "right")
    Account.drawing_on([left, right]).spend({"tokens": 4})
    assert [one.used("tokens") for one in (root, left, right)] == [4, 4, 4]
    with pytest.raises(BudgetExceeded, match="the budget of right has too little left"):
        Account.drawing_on([right, left]).hold({"tokens": 2})
    with pytest.raises(ConfigurationError, match="one tree; got several"):
        Account.drawing_on([root, Account(Budget())])


def test_sums_of_fractions_reach_a_limit_exactly() -> None:
    account = Account(Budget(cost=0.3))
    for _ in range(3):
        account.reserve({"cost": 0.1})
    with pytest.raises(BudgetExceeded, match=r"used up: 0\.3 of 0\.3 cost"):
        account.reserve({"cost": 0.1})


def test_what_is_done_again_is_drawn_once() -> None:
    account = Account(Budget(requests=2))
    for once in ("a", "b", "a", "b"):
        account.reserve({"requests": 1}, once=once)
    with pytest.raises(BudgetExceeded):
        account.reserve({"requests": 1}, once="c")
    account.spend({"requests": 1}, once="a")
    account.spend({"requests": 1}, once="c")
    account.reserve({"requests": 1}, once="c")
    assert account.used("requests") == 3


def test_what_was_drawn_elsewhere_counts_once_and_here_alone() -> None:
    parent = Account(Budget(requests=9))
    there = Account(Budget(requests=3, tokens=50), parent)
    there.reserve({"requests": 1}, once="a")
    there.spend({"tokens": 20})
    drawn = json.loads(json.dumps(there.drawn()))
    assert drawn == {"requests": 1, "tokens": 20}
    here = Account(there.budget, parent)
    here.spend({"tokens": 5})
    for _ in range(2):
        here.restore(drawn, known=["a", ""])
    assert (here.used("requests"), here.used("tokens")) == (1, 20)
    assert (parent.used("requests"), parent.used("tokens")) == (1, 25)
    here.reserve({"requests": 2}, once="a")
    here.reserve({"requests": 2}, once="b")
    with pytest.raises(BudgetExceeded):
        here.reserve({"requests": 1}, once="")
    assert parent.used("requests") == 3


def test_what_was_begun_in_another_process_is_done_again_by_a_child_that_knows_nothing() -> None:
    """A call of an inner cell counted, and its process died: nothing more is drawn for it above."""
    root = Account(Budget(requests=2))
    root.restore({"requests": 2}, ["a", "b"])
    child = Account(Budget(requests=1), root)
    child.reserve({"requests": 1}, once="b")
    assert (child.used("requests"), root.used("requests")) == (1, 2)
    with pytest.raises(BudgetExceeded):  # its own limit holds
        child.reserve({"requests": 1}, once="a")
    with pytest.raises(BudgetExceeded):
        Account(Budget(), root).reserve({"requests": 1}, once="c")
    assert root.used("requests") == 2


def test_running_time_is_reported_and_goes_on_where_it_was() -> None:
    account = Account(Budget(wall_seconds=60))
    assert account.drawn() == {}
    with account.running():
        first = account.drawn()["wall_seconds"]
        account.restore({"wall_seconds": 40})
        account.restore({"wall_seconds": first})
        assert 40 <= account.used("wall_seconds") < 50
    assert account.drawn()["wall_seconds"] == account.used("wall_seconds")
    with pytest.raises(ConfigurationError, match="at least 0"):
        account.restore({"tokens": -1})


def test_what_is_taken_is_at_most_what_is_left() -> None:
    root = Account(Budget(output_bytes=10))
    child = Account(Budget(output_bytes=7), root)
    assert [child.take("output_bytes", 5), child.take("output_bytes", 5)] == [5, 2]
    assert [root.take("output_bytes", 5), root.take("output_bytes", 5)] == [3, 0]
    assert root.take("tokens", 5) == 5


def test_wall_time_counts_once_however_many_run() -> None:
    root = Account(Budget(wall_seconds=100))
    child = Account(Budget(), root)
    begun = time.monotonic()
    with root.running(), child.running(), child.running():
        time.sleep(0.02)
        assert 0.02 <= child.used("wall_seconds") <= root.used("wall_seconds")
    spent = time.monotonic() - begun
    used = root.used("wall_seconds")
    assert 0.02 <= used <= spent
    time.sleep(0.02)
    assert root.used("wall_seconds") == used


# -- cells ---------------------------------------------------------------------------------


@bridge("kit.f")
async def _f() -> int:
    return 1


def _session(make: MakeSession, *bridges: Bridge, **limits: Any) -> Any:
    return make(*(bridges or (_f,)), limits=Limits(**limits))


_COUNT = """
done, caught = 0, None
try:
    for _ in range(20):
        await kit.f()
        done += 1
except Exception as error:
    caught = error
f"{done} {type(caught).__name__} {caught.budget} {caught.limit} {caught.left} {caught.tool}"
"""

REFUSED = [
    (Budget(requests=5), {}, "5 BudgetExceeded requests 5 0 kit.f"),
    (Budget(tool_requests={"kit.f": 4}), {}, "4 BudgetExceeded tool_requests:kit.f 4 0 kit.f"),
    (
        Budget(tool_requests={"own_name": 3}),
        {"tool": "own_name"},
        "3 BudgetExceeded tool_requests:own_name 3 0 kit.f",
    ),
    (Budget(dispatches=2), {"dispatches": True}, "2 BudgetExceeded dispatches 2 0 kit.f"),
]


@pytest.mark.parametrize(("budget", "options", "said"), REFUSED)
async def test_a_request_beyond_the_budget_is_refused_before_it_starts(
    make_session: MakeSession, budget: Budget, options: Any, said: str
) -> None:
    made = []
    session = _session(
        make_session, Bridge(name="kit.f", handler=lambda: made.append(1), **options)
    )
    account = Account(budget)
    with account.use():
        assert (await session.eval(_COUNT)).text == said
        assert (await session.eval("await kit.f()")).error.name == "BudgetExceeded"
    assert len(made) == int(said.partition(" ")[0])
    assert (await session.eval("await kit.f()")).ok, "outside, nothing is drawn"


async def test_cells_of_one_seed_are_not_taken_for_one(make_session: MakeSession) -> None:
    session = _session(make_session)
    with Account(Budget(requests=3)).use():
        said = [await session.eval(Cell(source="await kit.f()", seed=7)) for _ in range(4)]
    assert [outcome.ok for outcome in said] == [True, True, True, False]


@pytest.mark.parametrize("kind", ["tokens", "cost"])
async def test_what_is_known_afterwards_refuses_what_comes_next(
    make_session: MakeSession, kind: str
) -> None:
    def spend() -> int:
        account = Account.current()
        assert account is not None
        account.spend({kind: 7})
        return 1

    session = _session(make_session, Bridge(name="kit.f", handler=spend))
    account = Account(Budget(**{kind: 20}), name="this turn")
    with account.use():
        assert (await session.eval(_COUNT)).text == f"3 BudgetExceeded {kind} 20 0 kit.f"
        error = (await session.eval("done")).error
    assert (error.name, error.message) == (
        "BudgetExceeded",
        f"the budget of this turn is used up: 21 of 20 {kind}",
    )
    assert error.data == {"budget": kind, "limit": 20, "left": 0}


async def test_a_handler_may_draw_itself(make_session: MakeSession) -> None:
    async def pay(euros: int) -> None:
        account = Account.current()
        assert account is not None
        account.reserve({"cost": euros})

    session = _session(make_session, Bridge(name="kit.pay", handler=pay))
    with Account(Budget(cost=10)).use():
        outcome = await session.eval("await kit.pay(euros=7); await kit.pay(euros=7)")
    assert outcome.error.name == "BudgetExceeded"
    assert "7 of 10 cost used, 7 asked for" in outcome.error.message


@pytest.mark.parametrize(
    ("budget", "limits", "name"),
    [
        (Budget(cpu_seconds=0.2), {}, "BudgetExceeded"),
        (Budget(cpu_seconds=0.2), {"cpu_seconds": None, "wall_seconds": None}, "BudgetExceeded"),
        (Budget(cpu_seconds=60), {"cpu_seconds": 0.2}, "Timeout"),
        (Budget(wall_seconds=0.2), {"cpu_seconds": None}, "BudgetExceeded"),
        (Budget(wall_seconds=60), {"wall_seconds": 0.2}, "Timeout"),
    ],
)
async def test_a_cell_that_computes_is_stopped_by_what_is_tightest(
    make_session: MakeSession, budget: Budget, limits: Any, name: str
) -> None:
    session = _session(make_session, **limits)
    with Account(budget).use():
        error = (await session.eval("while True: pass")).error
        again = await session.eval("1")
    assert error.name == name
    assert again.ok == (name == "Timeout")
    if not again.ok:
        assert again.error.message == error.message.partition(";")[0]


class _Clock:
    """Time as accounts see it; it passes while a cell calls `late`."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    async def late(self, seconds: float) -> None:
        self.now += seconds


async def test_a_cell_that_waits_is_stopped_by_the_accounts_wall_time(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = _Clock()
    monkeypatch.setattr(accounts, "time", clock)
    session = _session(make_session, Bridge(name="kit.late", handler=clock.late))
    with Account(Budget(wall_seconds=100)).use():
        assert (await session.eval("await kit.late(seconds=60)")).ok
        clock.now += 1000  # nothing runs: this does not count
        assert (await session.eval("await kit.late(seconds=30)")).ok
        error = (await session.eval("await gather(sleep(600), kit.late(seconds=10))")).error
    assert error.name == "BudgetExceeded"
    assert "100 of 100 seconds; requests still open: 1 (timer)" in error.message


async def test_guest_time_is_spent_cell_by_cell(make_session: MakeSession) -> None:
    session = _session(make_session)
    account = Account(Budget())
    with account.use():
        first = await session.eval("sum(range(100_000))")
        second = await session.eval("await kit.f(); sum(range(100_000))")
    cpu = first.usage.cpu_seconds + second.usage.cpu_seconds
    assert account.used("cpu_seconds") == pytest.approx(cpu)


async def test_output_is_cut_to_what_is_left(make_session: MakeSession) -> None:
    session = _session(make_session)
    account = Account(Budget(output_bytes=20))
    with account.use():
        assert (await session.eval("'é' * 4")).text == "é" * 4
        assert account.left("output_bytes") == 12
        cut = await session.eval("'é' * 9")
        refused = await session.eval("1")
    assert (cut.text, cut.omitted_chars) == ("é" * 6, 3)
    assert cut.notices == (
        "the budget is used up: 20 of 20 bytes of output; the rest of the output is left out",
    )
    assert (refused.text, refused.error.name) == ("", "BudgetExceeded")


async def _say(text: str, context: CellContext) -> None:
    context.write_console(text)


_SAY = Bridge(name="kit.say", handler=_say, awaited=False)


async def test_errors_come_before_the_console(make_session: MakeSession) -> None:
    session = _session(make_session, _SAY)
    code = "kit.say(text='xyz' * 5); raise ValueError('0123456789' * 3)"
    error = (await session.eval(code)).error
    size = len(f"{error.message}\n{error.stack}".rstrip())
    for budget, console, answers in ((10, "", "0123456789"), (size + 3, "xyz", error.message)):
        with Account(Budget(output_bytes=budget)).use():
            outcome = await session.eval(code)
        assert (outcome.console, outcome.error.message) == (console, answers)
        assert (outcome.error.stack == error.stack) == (budget > size)
        assert outcome.console_omitted_chars == 15 - len(console)


async def test_only_what_is_shown_counts_as_output(make_session: MakeSession) -> None:
    session = _session(make_session, _SAY, result_chars=10, console_chars=5)
    account = Account(Budget(output_bytes=1000))
    with account.use():
        await session.eval("kit.say(text='y' * 100); 'x' * 100")
    assert account.used("output_bytes") == 15


# -- sharing -------------------------------------------------------------------------------


async def test_cells_of_many_sessions_at_once_never_exceed_their_account(
    make_stack: Any,
) -> None:
    made = []

    async def work() -> None:
        made.append(threading.get_ident())
        await asyncio.sleep(0.001)

    stack = make_stack(Bridge(name="kit.f", handler=work))
    account = Account(Budget(requests=25))
    each = """
async def one():
    try:
        await kit.f()
    except Exception as error:
        return type(error).__name__ == "BudgetExceeded"
    return False
sum(await gather(*[one() for _ in range(10)]))
"""

    def in_a_thread(number: int) -> int:
        with account.use():
            return int(stack.session(f"sync {number}").eval_sync(each).text)

    with account.use():
        sync = [asyncio.to_thread(in_a_thread, n) for n in range(3)]
        evals = [stack.session(f"{n}").eval(each) for n in range(3)]
        refused = sum(await asyncio.gather(*sync))
        refused += sum(int(outcome.text) for outcome in await asyncio.gather(*evals))
    assert (len(made), refused, account.used("requests")) == (25, 35, 25)


async def test_a_cell_run_by_a_handler_draws_on_its_callers_account(make_stack: Any) -> None:
    stack = make_stack(
        _f,
        Bridge(name="kit.nested", handler=lambda: None),
        Bridge(name="kit.run", handler=lambda: _nested(stack, None)),
        Bridge(name="kit.own", handler=lambda: _nested(stack, Budget(requests=2))),
    )
    root = Account(Budget(requests=10))
    with root.use():
        outcome = await stack.session("outer").eval("[await kit.own(), await kit.run()]")
    # 2 of the inner account, 10 - 2 - the two calls of the outer cell of the outer one
    assert outcome.text == "['2', '6']"
    assert root.used("requests") == 10


async def _nested(stack: Any, budget: Budget | None) -> str:
    account = Account.current()
    assert account is not None
    inner = account if budget is None else Account(budget, account)
    with inner.use():
        async with stack.session() as session:
            outcome = await session.eval(_COUNT)
    return str(outcome.text).partition(" ")[0]


async def test_without_an_account_nothing_is_asked_of_one(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells without a budget do no work for budgets but to see that there is none."""
    asked = []
    for name in ("reserve", "spend", "take", "left", "admit", "running"):
        monkeypatch.setattr(Account, name, lambda *a, name=name, **k: asked.append(name))
    found = Account.current
    monkeypatch.setattr(
        Account, "current", staticmethod(lambda: asked.append("current") or found())
    )
    assert (await _session(make_session).eval("await gather(*[kit.f() for _ in range(50)])")).ok
    assert asked == ["current"]


@pytest.mark.parametrize("given", [({"requests": 1},), (Budget(), {"requests": 1})])
def test_an_account_is_of_a_budget_and_below_an_account(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="requests': 1"):
        Account(*given)
