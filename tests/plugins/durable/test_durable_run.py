"""Cells that are run again on a journal, without an agent around them."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import attrs
import pytest
from journal_stores import Died, Memory, Waits

from interpstack import (
    Bridge,
    Cell,
    CellContext,
    GuestException,
    HostOffer,
    InterpreterStack,
    Limits,
    Outcome,
    Session,
    StepSource,
    hookimpl,
)
from interpstack.guests import NOT_RUN
from interpstack_accounts.api import Account, Budget
from interpstack_durable.api import (
    DurableRun,
    Journals,
    ReplayDivergence,
    RunState,
    answered_by,
    made_when,
    read_cell,
)
from interpstack_durable.forms import VERSION
from interpstack_durable.suspensions import read_suspension
from interpstack_testing import FakeEngine


@attrs.define(eq=False)
class Host:
    """Offers functions and notes what they did; each `run` is a process of its own."""

    engine: Callable[[], Any]
    memory: Memory = attrs.field(factory=Memory)
    done: list[int] = attrs.field(factory=list)
    names: Sequence[str] = ("free", "gated")
    handlers: Mapping[str, Any] = attrs.field(factory=dict)
    limits: Limits = attrs.field(factory=Limits)
    plugins: Sequence[Any] = ()

    async def _act(self, n: int) -> int:
        await asyncio.sleep(0)
        self.done.append(n)
        return n

    async def _slow(self, n: int) -> int:
        await asyncio.sleep(0.1)
        return await self._act(n)

    async def _gated(self, n: int) -> int:
        if not self.memory.decided:
            raise Waits
        return await self._act(n)

    async def run(self, source: str, account: Account | None = None) -> Outcome:
        handlers: dict[str, Any] = {"gated": self._gated, "slow": self._slow, **self.handlers}
        bridges = [
            Bridge(name=f"kit.{name}", handler=handlers.get(name, self._act), passes=(Waits,))
            for name in self.names
        ]
        with (
            InterpreterStack(
                self.engine(),
                plugins=["accounts", "console", "durable", *self.plugins],
                bridges=bridges,
                limits=self.limits,
            ) as stack,
            stack.session() as session,
        ):
            session.bind(HostOffer(parts=[Journals(lambda host: self.memory)]))
            return await _eval(session, source, account)


async def _eval(session: Session, source: str, account: Account | None) -> Outcome:
    if account is None:
        return await session.eval(source)
    with account.use():
        return await session.eval(source)


def quickjs() -> Any:
    return type(InterpreterStack("quickjs").engine)()


@pytest.fixture
def host() -> Host:
    return Host(quickjs)


@pytest.fixture
def python_host() -> Host:
    return Host(FakeEngine)


# -- the same run --------------------------------------------------------------------------


async def test_a_cell_that_goes_on_is_not_refused_for_what_is_gone(host: Host) -> None:
    source = "await kit.free({n: 1}); await kit.gated({n: 2}); await kit.late({n: 3})"
    refused = await host.run(source)
    assert refused.error is not None
    assert refused.error.message.startswith(NOT_RUN)
    assert (host.done, host.memory.entries) == ([], [])
    host.names = ("free", "gated", "late")
    with pytest.raises(Waits):
        await host.run(source)
    host.memory.decided = True
    host.names = ("free", "gated")
    outcome = await host.run(source)
    assert outcome.error is not None
    assert NOT_RUN not in outcome.error.message
    assert host.done == [1, 2]


CHANCE = """
const drawn = () => [Math.random(), Date.now(), new Date().getTime(), crypto.randomUUID(),
                     ...crypto.getRandomValues(new Uint8Array(4))].join()
const seen = [drawn()]
await kit.free({n: 1}); seen.push(drawn())
await kit.free({n: 2}); seen.push(drawn())
await kit.gated({n: 3}); seen.push(drawn())
seen.join("|")
"""


async def test_chance_and_time_are_the_same_in_every_run(host: Host) -> None:
    found = []
    for dies_after in (1, 2, None):
        host.memory.dies_after = dies_after
        with pytest.raises(Waits if dies_after is None else Died):
            await host.run(CHANCE)
        await asyncio.sleep(0.01)  # the host's clock goes on meanwhile
    host.memory.decided = True
    found = [(await host.run(CHANCE)).text for _ in range(2)]
    assert found[0] == found[1]
    assert len(set(found[0].split("|"))) == 4
    assert host.done == [1, 2, 3]


WAIT = """
const end = Date.now() + 2000; let n = 0; while (Date.now() < end) n++;
await kit.free({n});
await kit.gated({n: Math.floor(performance.now())});
[n, Date.now() - end].join()
"""


@pytest.mark.parametrize("suspends", [False, True])
@pytest.mark.parametrize("engine", ["quickjs", "v8"])
async def test_a_loop_that_waits_is_the_same_in_every_run(engine: str, suspends: bool) -> None:
    host = Host(lambda: type(InterpreterStack(engine).engine)(), Memory(suspends=suspends))
    for dies_after in (1, 2, None):
        host.memory.dies_after = dies_after
        with pytest.raises(Waits if dies_after is None else Died):
            await host.run(WAIT)
        await asyncio.sleep(0.01)
    host.memory.decided = True
    found = [(await host.run(WAIT)).text for _ in range(2)]
    assert found[0] == found[1]
    assert len(host.done) == 2  # what the guest passes is decided by its clock, and did not differ


@pytest.mark.parametrize("suspends", [False, True], ids=["replayed", "suspended"])
async def test_each_computing_is_recorded_once_with_its_times(host: Host, suspends: bool) -> None:
    host.memory.suspends = suspends
    source = "await kit.free({n: 1}); await kit.gated({n: 2}); await kit.free({n: 3}); 4"
    with pytest.raises(Waits):
        await host.run(source)
    left, resumed_after = len(host.memory.entries), time.time()
    host.memory.decided = True
    assert (await host.run(source)).text == "4"
    cell = read_cell(host.memory.entries)
    steps = [entry for entry in cell.entries if entry.now is not None]
    asked = [[request.id for request in step.asked] for step in steps]
    assert asked == [[1], [2], [3]] if left == 2 else [[1], [2], [], [3]]
    previous = cell.began or 0.0
    for step in steps:
        assert step.computed is not None
        began, ended = step.computed
        assert previous <= began <= ended <= (step.now or 0.0)
        previous = step.now or 0.0
    last = steps[-1].computed
    assert last is not None
    assert last[0] >= resumed_after, "the wait for the decision is no computing"


# -- another run ---------------------------------------------------------------------------

OTHER = {
    "another input": ("kit.free({n: globalThis.old ? 2 : 9})", r'kit.free\(\{"n":9\}\)'),
    "another name": ("(globalThis.old ? kit.free : kit.other)({n: 2})", r"kit.other\("),
    "one more": ("Promise.all([kit.free({n: 2}), old || kit.free({n: 9})])", r'\{"n":9\}'),
    "one less": ("(old ? kit.free({n: 2}) : new Promise(() => {}))", "asks for nothing more"),
    "another order": (
        "Promise.all((old ? [2, 9] : [9, 2]).map(n => kit.free({n})))",
        r'asks for kit.free\(\{"n":9\}\), but the recorded run asked for kit.free\(\{"n":2\}\)',
    ),
}


@pytest.mark.parametrize(("call", "found"), OTHER.values(), ids=OTHER.keys())
async def test_another_run_is_stopped_before_anything_is_done(
    host: Host, call: str, found: str
) -> None:
    """The guest distinguishes the runs by its offer, which the journal does not record."""
    source = f"const old = 'first' in kit; await kit.free({{n: 1}}); await {call}; "
    source = (
        source.replace("globalThis.old", "old") + "await kit.free({n: 3}); await kit.gated({n: 4})"
    )
    host.names = ("free", "gated", "other", "first")
    with pytest.raises(Waits):
        await host.run(source)
    before = list(host.done)
    host.names, host.memory.decided = ("free", "gated", "other"), True
    entries = list(host.memory.entries)
    with pytest.raises(ReplayDivergence, match=found) as caught:
        await host.run(source)
    assert "step 2" in str(caught.value)
    assert "but the recorded run asked for" in str(caught.value)
    assert host.done == before
    assert host.memory.entries == entries


async def test_an_undelivered_answer_is_not_given_to_another_call(host: Host) -> None:
    host.names = ("free", "gated", "slow", "first")
    source = """
    const n = 'first' in kit ? 1 : 9;
    await Promise.all([kit.free({n}), kit.slow({n: 2}), kit.gated({n: 3})])
    """
    host.memory.dies_after = 2
    with pytest.raises(Died):
        await host.run(source)
    host.names = ("free", "gated", "slow")
    with pytest.raises(
        ReplayDivergence, match=r'at step 1 the code asks for kit.free\(\{"n":9\}\)'
    ):
        await host.run(source)
    assert host.done == [1]


async def test_an_answer_recorded_at_a_cancellation_is_not_given_to_another_call(
    host: Host,
) -> None:
    begun = threading.Event()

    def pay(n: int) -> int:
        begun.set()
        time.sleep(0.05)
        host.done.append(n)
        return n

    host.names, host.handlers = ("pay", "first"), {"pay": pay}
    source = "const n = 'first' in kit ? 1 : 9; await kit.pay({n})"
    running = asyncio.ensure_future(host.run(source))
    await asyncio.to_thread(begun.wait)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert host.done == [1]
    host.names = ("pay",)
    with pytest.raises(ReplayDivergence, match=r'at step 1 the code asks for kit.pay\(\{"n":9\}\)'):
        await host.run(source)
    host.names = ("pay", "first")
    assert (await host.run(source)).text == "1"
    assert host.done == [1]


async def test_other_code_is_not_run_on_a_journal(host: Host) -> None:
    with pytest.raises(Waits):
        await host.run("await kit.free({n: 1}); await kit.gated({n: 4})")
    with pytest.raises(ReplayDivergence, match="of different code"):
        await host.run("await kit.free({n: 1}); await kit.gated({n: 4}) ")
    assert host.done == [1]


# -- states --------------------------------------------------------------------------------


@attrs.define(eq=False)
class Watched(Memory):
    """A store that notes the state of the run with each entry.

    Attributes:
        runs: The runs of the cell, in order.
        seen: Of each run: the states in which entries were written and calls were made.
    """

    runs: list[DurableRun] = attrs.field(factory=list)
    seen: list[list[tuple[str, RunState]]] = attrs.field(factory=list)

    def note(self, what: str) -> None:
        self.seen[-1].append((what, self.runs[-1].state))

    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        self.note("kept" if "kept" in entry else "step" if "now" in entry else "entry")
        await super().append(index, entry)

    @hookimpl(wrapper=True)
    def interpstack_open_cell(self) -> Generator[None, list[Any], list[Any]]:
        opened = yield
        self.runs += [one for one in opened if isinstance(one, DurableRun)]
        self.seen.append([])
        return opened


@pytest.fixture
def watched(host: Host) -> Watched:
    watched = Watched()
    host.memory, host.plugins = watched, [watched]
    host.names = ("free", "slow", "gated")

    async def called(n: int) -> int:
        watched.note("call")
        return await host._act(n)

    host.handlers = {"free": called}
    return watched


PAUSES = "await kit.free({n: 1}); await Promise.all([kit.slow({n: 2}), kit.gated({n: 3})]); 4"


async def test_a_run_records_and_calls_in_the_states_that_promise_it(
    host: Host, watched: Watched
) -> None:
    running, pausing = RunState.RUNNING, RunState.PAUSING
    with pytest.raises(Waits):
        await host.run(PAUSES)
    assert watched.seen[0] == [
        ("entry", RunState.RESUMING),
        ("call", running),
        ("step", running),
        ("step", pausing),
    ]
    with pytest.raises(Waits):
        await host.run(PAUSES)
    assert watched.seen[1] == [], "nothing was decided"
    watched.decided = True
    assert (await host.run(PAUSES)).text == "4"
    assert watched.seen[2] == [("entry", RunState.RESUMING), ("step", running)]
    assert (await host.run(PAUSES)).text == "4"
    assert watched.seen[3] == [], "all of it is recorded"
    assert [run.state for run in watched.runs] == [
        RunState.PAUSED,
        RunState.INTERRUPTED,
        RunState.ENDED,
        RunState.ENDED,
    ]


@pytest.mark.parametrize("dies_after", range(1, 4))
async def test_wherever_a_run_dies_the_next_one_makes_no_recorded_call(
    host: Host, watched: Watched, dies_after: int
) -> None:
    watched.dies_after = dies_after
    with pytest.raises((Died, Waits)):
        await host.run(PAUSES)
    assert watched.runs[-1].state in (RunState.INTERRUPTED, RunState.PAUSED)
    watched.dies_after, watched.decided = None, True
    assert (await host.run(PAUSES)).text == "4"
    assert watched.runs[-1].state is RunState.ENDED
    assert host.done.count(1) == 1
    acting = {RunState.RUNNING, RunState.PAUSING}
    assert {state for what, state in watched.seen[-1] if what != "entry"} <= acting


async def test_a_pause_does_not_wait_for_timers(host: Host) -> None:
    async with asyncio.timeout(60):
        with pytest.raises(Waits):
            await host.run("setTimeout(() => 0, 600_000); await kit.gated({n: 1})")


# -- pauses --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["host", "python_host"])
async def test_no_call_is_made_while_one_waits_although_the_process_dies(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """What had ended at the pause is recorded with it, or the guest would go on from there."""
    host: Host = request.getfixturevalue(kind)
    javascript = "await Promise.race([kit.free({n: 1}), kit.gated({n: 2})]); await kit.free({n: 3})"
    python = "kit.gated(n=2)\nawait kit.free(n=1)\nawait kit.free(n=3)"
    source = javascript if kind == "host" else python
    for run in range(4):
        host.memory.dies_after = len(host.memory.entries) + 1 + (run > 0)
        with pytest.raises((Died, Waits)):
            await host.run(source)
        assert host.done == [1] * (run > 0)  # each run has written before it makes a call
    assert len(host.memory.entries) == 3
    host.memory.decided = True
    host.memory.dies_after = None
    assert (await host.run(source)).ok
    assert sorted(host.done) == [1, 2, 3]


async def test_no_run_makes_a_call_that_its_store_cannot_record(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call in whose time the store broke is made again once, when the store is mended."""

    async def refused(store: Memory, index: int, entry: Any) -> None:
        raise OSError("the database is read-only")

    async def pay(n: int) -> int:
        host.done.append(n)
        if host.done == [1, 2]:
            monkeypatch.setattr(Memory, "append", refused)
        return n

    host.names, host.handlers = ("pay",), {"pay": pay}
    source = "await kit.pay({n: 1}); await kit.pay({n: 2}); await kit.pay({n: 3})"
    for _ in range(4):
        with pytest.raises(OSError, match="read-only"):
            await host.run(source)
    assert host.done == [1, 2]
    monkeypatch.undo()
    assert (await host.run(source)).text == "3"
    assert host.done == [1, 2, 2, 3]


@pytest.mark.parametrize("decided", [False, True], ids=["waits again", "waits no more"])
async def test_what_ends_while_a_pause_waits_for_others_is_kept_at_once(
    host: Host, decided: bool
) -> None:
    host.names = ("free", "gated", "slow")
    source = """
    let order = []
    const note = n => order.push(n)
    await Promise.all([kit.free({n: 1}).then(note), kit.slow({n: 2}).then(note),
                       kit.gated({n: 3}).then(note)])
    await kit.free({n: 4})
    order.length
    """
    host.memory.dies_after = 2
    with pytest.raises(Died):
        await host.run(source)
    assert host.done == [1]
    assert [list(entry) for entry in host.memory.entries] == [
        ["version", "release", "cell", "began"],
        ["kept"],
    ]
    host.memory.decided = decided
    if not decided:
        with pytest.raises(Waits):
            await host.run(source)
        assert host.done == [1, 2]
        host.memory.decided = True
    assert (await host.run(source)).text == "3"
    assert sorted(host.done) == [1, 2, 3, 4]
    assert (await host.run(source)).text == "3"
    assert len(host.done) == 4


@attrs.define(eq=False)
class Failing(Memory):
    """A store that fails once, and stores nothing then.

    Attributes:
        fails: The number of the entry that cannot be stored at first.
    """

    fails: int = 0

    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        if index == self.fails:
            self.fails = -1
            raise OSError("the database is locked")
        await super().append(index, entry)


@pytest.mark.parametrize("call", ["free", "gated"], ids=["a step", "a pause"])
async def test_what_could_not_be_recorded_is_recorded_when_the_run_is_left(
    host: Host, call: str
) -> None:
    host.memory = Failing("cell", fails=1)
    source = f"(await Promise.all([kit.free({{n: 1}}), kit.{call}({{n: 2}})])).join()"
    with pytest.raises(OSError, match="locked"):
        await host.run(source)
    host.memory.decided = True
    assert (await host.run(source)).text == "1,2"
    assert sorted(host.done) == [1, 2]


@pytest.mark.parametrize("fails", [1, 2])
async def test_what_was_kept_while_a_record_fails_is_recorded_once(host: Host, fails: int) -> None:
    host.memory = Failing("cell", fails=fails)
    host.names = ("free", "slow", "gated")
    source = """
    const slow = kit.slow({n: 3}), gated = kit.gated({n: 2});
    [await kit.free({n: 1}), await slow, await gated].join()"""
    with pytest.raises(OSError, match="locked"):
        await host.run(source)
    kept = [one[0] for entry in host.memory.entries for one in _kept_in(entry)]
    assert len(kept) == len({*kept})
    assert len(frozenset().union(*map(answered_by, host.memory.entries))) == len(host.done)
    host.memory.decided = True
    assert (await host.run(source)).text == "1,3,2"
    assert sorted(host.done) == [1, 2, 3]


@attrs.define(eq=False)
class LosingAnswers(Memory):
    """A store that loses one acknowledgement, and keeps the first entry of an index, as savers do.

    Attributes:
        loses: The number of the entry that is stored, and reported as failed.
        meanwhile: Called between the two.
    """

    loses: int = 0
    meanwhile: asyncio.Event = attrs.field(factory=asyncio.Event)

    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        if index < len(self.entries):
            return
        await super().append(index, entry)
        if index == self.loses:
            self.loses = -1
            self.meanwhile.set()
            await asyncio.sleep(0.05)  # other calls end
            raise OSError("the connection was lost")


async def test_no_record_takes_the_place_of_one_whose_acknowledgement_was_lost(
    host: Host,
) -> None:
    """Found by simulated agents: a saver ignores the second entry, and its answers were lost."""
    host.memory = memory = LosingAnswers("cell", loses=2)

    async def late(n: int) -> int:
        await memory.meanwhile.wait()
        return await host._act(n)

    host.names, host.handlers = ("free", "slow", "late"), {"late": late}
    calls = "kit.free({n: 1}), kit.slow({n: 2}), kit.late({n: 3})"
    source = f"(await Promise.all([{calls}])).join()"
    with pytest.raises(OSError, match="lost"):
        await host.run(source)
    assert (await host.run(source)).text == "1,2,3"
    assert host.done == [1, 2, 3]


async def test_a_budget_holds_after_a_lost_acknowledgement(host: Host) -> None:
    """Found by the simulation of seed 101: one call more than the budget was made."""
    host.memory = LosingAnswers("cell", loses=1)
    source = "await kit.free({n: 1}); await kit.free({n: 2}).catch(error => error.name)"
    with pytest.raises(OSError, match="lost"):
        await host.run(source, Account(Budget(requests=1)))
    assert (await host.run(source, Account(Budget(requests=1)))).text == "BudgetExceeded"
    assert host.done == [1]


@pytest.mark.parametrize("loses", [1, 2])
async def test_a_pause_whose_acknowledgement_was_lost_is_continued(host: Host, loses: int) -> None:
    host.memory = LosingAnswers("cell", loses=loses)
    host.names = ("free", "slow", "gated")
    source = """
    const slow = kit.slow({n: 3}), gated = kit.gated({n: 2});
    [await kit.free({n: 1}), await slow, await gated].join()"""
    with pytest.raises(OSError, match="lost"):
        await host.run(source)
    host.memory.decided = True
    assert (await host.run(source)).text == "1,3,2"
    assert sorted(host.done) == [1, 2, 3]


def _kept_in(entry: Mapping[str, Any]) -> Sequence[Any]:
    return entry["kept"]["settled"] if "kept" in entry else ()


class Slow(Memory):
    """A store that takes its time with the record of a pause."""

    async def pause(self, journal: Any, paused: Any, running: Any) -> BaseException:
        error = await super().pause(journal, paused, running)
        await asyncio.sleep(0.1)
        return error


async def test_an_answer_that_arrives_after_the_record_of_a_pause_is_not_part_of_it(
    host: Host,
) -> None:
    host.memory = Slow("cell")
    source = "const woken = new Promise(wake => setTimeout(wake, 20)); await kit.gated({n: 1})"
    with pytest.raises(Waits):
        await host.run(source)
    host.memory.decided = True
    assert (await host.run(source)).text == "1"
    assert host.done == [1]


COMPUTES = """
const slow = kit.slow({n: 1});
await kit.free({n: 2});
for (const end = Date.now() + 1e9, step = 1; Date.now() < end;);
"""


async def test_what_ends_while_the_guest_computes_is_kept_however_often_it_is_cancelled(
    host: Host,
) -> None:
    host.names = ("free", "slow")
    running = asyncio.ensure_future(host.run(COMPUTES))
    async with asyncio.timeout(30):
        while not any("kept" in e for e in host.memory.entries):  # noqa: ASYNC110 - of a store
            await asyncio.sleep(0.01)
    for _ in range(3):  # nobody touches the guest before it has stopped
        running.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(host.done) == [1, 2]
    host.limits = Limits(cpu_seconds=1)
    again = await host.run(COMPUTES)
    assert again.error is not None
    assert again.error.name == "Timeout"
    assert sorted(host.done) == [1, 2]


@pytest.mark.parametrize("made", [True, False])
async def test_a_call_that_was_made_ends_although_its_cell_is_cancelled(
    host: Host, made: bool
) -> None:
    begun, end = asyncio.Event(), asyncio.Event()

    async def act(n: int, context: CellContext) -> int:
        with made_when(context, lambda: made):
            begun.set()
            await end.wait()
            host.done.append(n)
            return n

    host.handlers = {"free": act}
    running = asyncio.ensure_future(host.run("await kit.free({n: 1})"))
    await begun.wait()
    running.cancel()
    await asyncio.sleep(0)
    end.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await host.run("await kit.free({n: 1})")).text == "1"
    assert host.done == [1]


async def test_a_call_of_a_cell_without_a_journal_needs_no_grace() -> None:
    with made_when(CellContext("s", Cell(source="")), lambda: True):
        assert StepSource().grace(0) == 0.0


@attrs.define(eq=False)
class Stolen(Mapping[str, Any]):
    """A recorded step that no run can be compared with."""

    entry: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        if key == "asked":
            return [[1, "no.such", "no digest", "of a run that is compared"]]
        return self.entry[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entry)

    def __len__(self) -> int:
        return len(self.entry)


SUSPENDED = """
console.log('start')
const functions = [() => 1], seen = [Math.random()];
functions.push(() => seen.length);
await kit.free({n: 1}); seen.push(Math.random());
await kit.free({n: 2}); seen.push(Math.random());
const last = await kit.gated({n: 3}); seen.push(Math.random());
console.log('end');
[functions[1](), new Set(seen).size, last].join()
"""


async def test_a_suspended_run_goes_on_and_no_code_is_run_twice(host: Host) -> None:
    host.memory.suspends = True
    with pytest.raises(Waits):
        await host.run(SUSPENDED)
    *steps, last = host.memory.entries
    assert len(steps) == 3  # and the one with the clock
    # A second run of the code would ask again for what these have.
    host.memory.entries = [*(Stolen(step) for step in steps), last]
    host.memory.decided = True
    outcome = await host.run(SUSPENDED)
    assert (outcome.text, outcome.console) == ("4,4,3", "start\nend")
    assert host.done == [1, 2, 3]


async def test_a_suspended_run_that_cannot_be_opened_is_run_again(host: Host) -> None:
    host.memory.suspends = True
    with pytest.raises(Waits):
        await host.run(SUSPENDED)
    assert host.memory.text is not None
    host.memory.text = host.memory.text.replace('"image":["quickjs"', '"image":["another"')
    host.memory.decided = True
    outcome = await host.run(SUSPENDED)
    assert (outcome.text, outcome.console) == ("4,4,3", "start\nend")
    assert host.done == [1, 2, 3]


# -- budgets -------------------------------------------------------------------------------

PAID = """
let made = 0
await Promise.all([1, 2].map(n => kit.free({n})))
await kit.gated({n: 3})
try { for (let n = 4; n < 9; n++) { await kit.free({n}); made++ } } catch (e) { made += e.name }
made
"""


@pytest.mark.parametrize("suspends", [False, True], ids=["replayed", "suspended"])
async def test_what_was_drawn_counts_in_another_process_once(host: Host, suspends: bool) -> None:
    """Delivered requests count as made; tokens and time of calls are in the record."""
    host.memory.suspends = suspends
    budget = Budget(requests=5, tool_requests={"kit.free": 4}, tokens=100)
    first = Account(budget)
    first.spend({"requests": 0, "tokens": 60})
    with pytest.raises(Waits):
        await host.run(PAID, first)
    assert first.used("requests") == 3
    drawn = host.memory.entries[-1]["drawn"]
    assert drawn["tokens"] == 60
    host.memory.decided = True
    parent = Account(Budget())
    second = Account(budget, parent)
    outcome = await host.run(PAID, second)
    assert outcome.text == "2BudgetExceeded"
    assert second.used("requests") == 5
    assert second.used("tool_requests:kit.free") == 4
    assert second.used("tokens") == 60
    for kind in ("wall_seconds", "cpu_seconds"):
        assert second.used(kind) >= drawn[kind] > 0
    assert parent.used("tokens") == 0, "what was drawn elsewhere is drawn on this account alone"


async def test_what_was_refused_is_refused_again(host: Host) -> None:
    source = """
    const told = await Promise.allSettled([1, 2, 3].map(n => kit.free({n})))
    try { await kit.gated({n: 4}) } catch (e) { told.push({reason: e}) }
    told.map(one => one.reason?.name ?? 'made').join()
    """
    account = Account(Budget(requests=2, tokens=1))
    host.memory.dies_after = 1
    with pytest.raises(Died):
        await host.run(source, account)
    text = "made,made,BudgetExceeded,BudgetExceeded"
    assert (await host.run(source, Account(account.budget))).text == text
    assert host.done == [1, 2]


# -- what is stored may be damaged ---------------------------------------------------------

_SUSPENSION: dict[str, Any] = {
    "version": VERSION,
    "image": ["quickjs", "base", "AAAA"],
    "steps": 1,
    "asked": [[1, "kit.gated", {"n": 1}, True]],
    "open": [],
    "made": {"kit.gated": 1},
    "console": [["said", 0]],
    "cpu_seconds": 0.5,
}
_DAMAGED = {
    "image": [None, [], ["quickjs", "base", "A"], ["quickjs", 1, "AAAA"], "abc"],
    "steps": ["x", None],
    "asked": [1, [1], [["1", "kit.gated", 1, True]], [[1, 2, 3, True]], [[1, "x", 1]]],
    "open": ["x"],
    "made": [[], {"kit.gated": "x"}],
    "console": [["x"], [[1, 1]]],
    "cpu_seconds": ["x"],
}


def test_suspensions_are_read() -> None:
    found = read_suspension(json.dumps(_SUSPENSION))
    assert found is not None
    assert (found.steps, found.made, found.console) == (1, {"kit.gated": 1}, (("said", 0),))


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in _DAMAGED.items() for value in values]
)
def test_damaged_suspensions_are_as_good_as_none(name: str, value: Any) -> None:
    assert read_suspension(json.dumps({**_SUSPENSION, name: value})) is None


@pytest.mark.parametrize("text", ["", "[]", "1", "{", "[" * 100_000, "{}"])
def test_nonsense_is_no_suspension(text: str) -> None:
    assert read_suspension(text) is None


async def test_an_error_of_a_handler_is_drawn_whatever_its_name(host: Host) -> None:
    """A request that was made counts again in another process, though its error looks refused."""

    async def failing(n: int) -> None:
        raise GuestException("not mine", name="BudgetExceeded")

    host.handlers = {"free": failing}
    source = "const e = await kit.free({n: 1}).catch(e => e.name); await kit.gated({n: 2}); e"
    with pytest.raises(Waits):
        await host.run(source, Account(Budget(requests=9)))
    host.memory.decided = True
    again = Account(Budget(requests=9))
    assert (await host.run(source, again)).text == "BudgetExceeded"
    assert again.used("requests") == 2
