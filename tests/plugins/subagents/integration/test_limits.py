"""How many subagents may run, and be started."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from interpstack import HostOffer, InterpreterStack, Limits, Slots
from interpstack_subagents.api import Subagents

ALL = (
    "await Promise.all(Array.from({length: 9}, (_, i) =>"
    " task({description: `${i}`, subagentType: 'kid'})))"
)


class Counter:
    """Counts how many run at once."""

    def __init__(self) -> None:
        self.now = self.most = self.all = 0

    async def run(self) -> None:
        self.now, self.all = self.now + 1, self.all + 1
        self.most = max(self.most, self.now)
        for _ in range(20):
            await asyncio.sleep(0.001)
        self.now -= 1


@pytest.fixture
def counter() -> Counter:
    return Counter()


async def test_at_most_so_many_subagents_of_an_eval_run_at_once(
    crews: Any, counter: Counter
) -> None:
    async def reply(messages: list[Any], names: list[str]) -> str:
        await counter.run()
        return messages[-1].text

    crew = crews(crews.kid(reply), max_subagent_concurrency=3)
    answer = await crew.run(ALL)
    assert answer == '<result>["0", "1", "2", "3", "4", "5", "6", "7", "8"]</result>'
    assert (counter.most, counter.all) == (3, 9)


@pytest.fixture
def stack() -> Iterator[InterpreterStack]:
    with InterpreterStack(plugins=["subagents"], limits=Limits(wall_seconds=30)) as made:
        yield made


def offer(counter: Counter, **options: Any) -> HostOffer:
    async def dispatch(wanted: Any, context: Any) -> str:
        await counter.run()
        return str(wanted.description)

    return HostOffer(parts=[Subagents(dispatch, **options)])


async def test_all_sessions_of_the_process_share_one_cap(
    stack: InterpreterStack, counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interpstack_subagents.dispatch._slots", Slots(2))

    async def converse(key: str) -> None:
        async with stack.session(key) as session:
            session.bind(offer(counter))
            assert (await session.eval(ALL)).ok

    await asyncio.gather(*(converse(key) for key in "abc"))
    assert (counter.most, counter.all) == (2, 27)


async def test_a_slot_is_given_back_by_what_fails_and_what_is_cancelled(
    stack: InterpreterStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots = Slots(1)
    monkeypatch.setattr("interpstack_subagents.dispatch._slots", slots)
    started = asyncio.Event()

    async def dispatch(wanted: Any, context: Any) -> str:
        if wanted.description == "fail":
            raise RuntimeError("failed")
        started.set()
        await asyncio.sleep(60)
        return "never"

    async with stack.session() as session:
        session.bind(HostOffer(parts=[Subagents(dispatch)]))
        failed = await session.eval('await task({description: "fail", subagentType: "kid"})')
        assert failed.error is not None
        assert failed.error.message == "failed"
        running = asyncio.ensure_future(session.eval(ALL))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert not slots.busy


async def test_the_dispatch_budget(stack: InterpreterStack, counter: Counter) -> None:
    async with stack.session() as session:
        session.bind(offer(counter, budget=4))
        code = ALL.replace("all(", "allSettled(")
        outcome = await session.eval(
            f"const r = {code}; [...new Set(r.map(one => one.reason?.name + one.reason?.message))]"
        )
        assert "CallBudgetExceeded" in outcome.text
        assert "task 4 times" in outcome.text
        assert counter.all == 4
        await session.eval(ALL)
        assert counter.all == 8  # each cell has its own


async def test_dispatches_are_no_calls_of_tools(crews: Any) -> None:
    answer = await crews(max_ptc_calls=5).run(ALL)
    assert answer.startswith("<result>")


async def test_calls_of_tools_beside_dispatches_are_counted(crews: Any) -> None:
    code = f"const all = {ALL}; let made = 0, name = '';"
    code += "try { for (;;) { await tools.$search('x'); made++ } } catch (e) { name = e.name }"
    answer = await crews(max_ptc_calls=5).run(f"{code} made + name")
    assert answer == "<result>5PTCCallBudgetExceeded</result>"
