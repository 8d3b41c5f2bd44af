"""Pauses that do not wait for ever: what still runs is left alone, and its answer taken later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import journal_stores
import pytest
from clocks import LeapingClock
from journal_stores import Waits

from interpstack import (
    Bridge,
    CellContext,
    HostOffer,
    InterpreterStack,
    Limits,
    Outcome,
)
from interpstack_accounts.api import Account, Budget
from interpstack_durable.api import InFlightCalls, Journals, ReplayDivergence


@attrs.define(eq=False)
class Memory(journal_stores.Memory):
    """A journal's store, whose pauses wait for a moment."""

    pause_grace: float = 0.05

    async def take_answers(self, journal: Any) -> None:
        """Whether a call may be made is asked when it is made."""


BOTH = "(await Promise.all([kit.slow({n: 1}), kit.gated({n: 2})])).join()"


@attrs.define(eq=False)
class Host:
    """Offers a call that takes as long as the test says, and one that needs a decision.

    Attributes:
        begun: Keys of calls of `slow`, as often as they were begun.
        go: Lets them end.
        asks: Whether the next one to end asks somebody.
        left: Keys of the calls that each run left to be recorded.
        before_asking: Called before a call waits for its decision.
    """

    memory: Memory = attrs.field(factory=Memory)
    begun: list[str] = attrs.field(factory=list)
    ended: list[int] = attrs.field(factory=list)
    go: asyncio.Event = attrs.field(factory=asyncio.Event)
    asks: bool = False
    left: list[Sequence[str]] = attrs.field(factory=list)
    before_asking: Callable[[], None] = lambda: None

    async def slow(self, n: int, context: CellContext) -> int:
        self.begun.append(context.call_key)
        await self.go.wait()
        if self.asks:
            self.asks = False
            raise Waits
        self.ended.append(n)
        return n

    async def gated(self, n: int) -> int:
        if not self.memory.decided:
            self.before_asking()
            raise Waits
        return n

    def stack(self, limits: Limits | None = None, concurrency: int | None = None) -> Any:
        """A stack, which stands for a process."""
        bridges = [
            Bridge(name="kit.slow", handler=self.slow, passes=(Waits,), concurrency=concurrency),
            Bridge(name="kit.gated", handler=self.gated, passes=(Waits,)),
            Bridge(name="kit.quick", handler=lambda n: n),
        ]
        return InterpreterStack("quickjs", ["accounts", "durable"], bridges=bridges, limits=limits)

    async def _leave(self, calls: InFlightCalls) -> None:
        self.left.append(calls.keys)

    async def run(self, stack: Any, source: str = BOTH) -> Outcome:
        async with stack.session() as session:
            journals = Journals(
                lambda host: self.memory, late_recorder_for=lambda host: self._leave
            )
            session.bind(HostOffer(parts=[journals]))
            outcome: Outcome = await session.eval(source)
            return outcome


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.go.set()


@pytest.mark.parametrize("suspends", [False, True], ids=["replayed", "suspended"])
@pytest.mark.parametrize("first", ["ends first", "is decided first"])
async def test_an_answer_is_taken_where_the_process_lives_on(
    host: Host, first: str, suspends: bool
) -> None:
    host.memory.suspends = suspends
    with host.stack() as stack:
        with pytest.raises(Waits):
            await host.run(stack)
        assert host.memory.running == ["kit.slow"]
        host.memory.decided = True
        if first == "ends first":
            host.go.set()
            while not host.ended:  # noqa: ASYNC110 - it is left alone
                await asyncio.sleep(0.01)
        going_on = asyncio.ensure_future(host.run(stack))
        await asyncio.sleep(0.1)
        host.go.set()
        assert (await going_on).text == "1,2"
        assert (len(host.begun), host.ended) == (1, [1])
        # It is recorded by now, so another process does not make it again, either.
    with host.stack() as other:
        assert (await host.run(other)).text == "1,2"
    assert (len(host.begun), host.ended) == (1, [1])


async def test_it_is_made_again_with_its_key_in_another_process(host: Host) -> None:
    with host.stack() as stack, pytest.raises(Waits):
        await host.run(stack)
    host.memory.decided = True
    with host.stack() as other:
        going_on = asyncio.ensure_future(host.run(other))
        while len(host.begun) < 2:  # noqa: ASYNC110 - of a bridge
            await asyncio.sleep(0.01)
        host.go.set()
        assert (await going_on).text == "1,2"
    assert len(set(host.begun)) == 1


async def test_a_pause_can_come_again_while_the_call_still_runs(host: Host) -> None:
    with host.stack() as stack:
        for _ in range(3):
            with pytest.raises(Waits):
                await host.run(stack)
        host.memory.decided = True
        going_on = asyncio.ensure_future(host.run(stack))
        await asyncio.sleep(0.05)
        going_on.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going_on
        assert host.left == [host.begun] * 4, "each run leaves it to be recorded"
        host.go.set()
        assert (await host.run(stack)).text == "1,2"
    assert (len(host.begun), host.ended) == (1, [1])


async def test_a_run_that_diverges_leaves_nothing_to_be_recorded(host: Host) -> None:
    with host.stack() as stack:
        with pytest.raises(Waits):
            await host.run(stack)
        host.left.clear()
        with pytest.raises(ReplayDivergence):
            await host.run(stack, BOTH + " ")
        assert not host.left


async def test_a_call_in_flight_can_ask_for_a_decision_itself(host: Host) -> None:
    with host.stack() as stack:
        with pytest.raises(Waits):
            await host.run(stack)
        host.memory.decided = host.asks = True
        host.go.set()
        await asyncio.sleep(0.05)
        with pytest.raises(Waits):
            await host.run(stack)
        assert (await host.run(stack)).text == "1,2"
    assert (len(host.begun), host.ended) == (2, [1])


async def test_a_call_that_waits_for_room_is_not_begun_after_the_pause(host: Host) -> None:
    source = "(await Promise.all([1, 2].map(n => kit.slow({n})).concat(kit.gated({n: 3})))).join()"
    with host.stack(concurrency=1) as stack:
        with pytest.raises(Waits):
            await host.run(stack, source)
        assert len(host.begun) == 1
        host.go.set()
        await asyncio.sleep(0.1)
        assert (len(host.begun), host.ended) == (1, [1])
        host.memory.decided = True
        assert (await host.run(stack, source)).text == "1,2,3"
    assert (len(set(host.begun)), host.ended) == (2, [1, 2])


async def test_a_pause_that_is_due_is_not_lost_to_the_wall_limit(
    host: Host, leaping_clock: LeapingClock
) -> None:
    host.before_asking = leaping_clock.leap
    host.memory.pause_grace = 600.0
    with host.stack(Limits(wall_seconds=100)) as stack:
        with pytest.raises(Waits):
            await host.run(stack)
        assert host.memory.running == ["kit.slow"]
        host.memory.decided = True
        host.go.set()
        assert (await host.run(stack)).text == "1,2"


@pytest.mark.parametrize("suspends", [False, True], ids=["replayed", "suspended"])
@pytest.mark.parametrize("process", ["same", "another"])
async def test_a_call_in_flight_is_charged_once(host: Host, process: str, suspends: bool) -> None:
    host.memory.suspends = suspends
    source = f"{BOTH} + await kit.slow({{n: 3}}).catch(error => ` ${{error.name}}`)"
    account = Account(Budget(requests=2))
    with host.stack() as stack, host.stack() as other:
        with pytest.raises(Waits), account.use():
            await host.run(stack, source)
        host.memory.decided = True
        if process == "another":
            account, stack = Account(account.budget), other
        asyncio.get_running_loop().call_later(0.1, host.go.set)
        with account.use():
            assert (await host.run(stack, source)).text == "1,2 BudgetExceeded"
    assert account.used("requests") == 2


async def test_a_late_result_counts_no_request_that_the_code_makes_after_the_pause(
    host: Host,
) -> None:
    """The amounts of the late result are older than the request, which another process counts."""
    source = """
    const paid = kit.gated({n: 2}), slow = kit.slow({n: 1});
    const both = kit.quick({n: 3}).then(() => kit.quick({n: 4}));
    [await paid, await slow, await both.catch(error => error.name)].join()"""
    budget = Budget(requests=3)
    late: list[InFlightCalls] = []

    async def leave(calls: InFlightCalls) -> None:
        late.append(calls)

    async def run(stack: Any) -> Outcome:
        async with stack.session() as session:
            journals = Journals(lambda _: host.memory, late_recorder_for=lambda _: leave)
            session.bind(HostOffer(parts=[journals]))
            with Account(budget).use():
                outcome: Outcome = await session.eval(source)
                return outcome

    with host.stack() as stack:
        with pytest.raises(Waits):
            await run(stack)
        host.go.set()
        await late[0].record_late_results()
    host.memory.decided = True
    with host.stack() as other:
        assert (await run(other)).text == "2,1,BudgetExceeded"
    assert host.ended == [1]


def test_a_call_of_a_closed_loop_is_made_again() -> None:
    host = Host()
    with host.stack() as stack:
        with pytest.raises(Waits):
            asyncio.run(host.run(stack))
        host.memory.decided, host.go = True, asyncio.Event()

        async def go_on() -> Any:
            host.go.set()
            return await host.run(stack)

        assert asyncio.run(go_on()).text == "1,2"
    assert (len(host.begun), len(set(host.begun)), host.ended) == (2, 1, [1])
