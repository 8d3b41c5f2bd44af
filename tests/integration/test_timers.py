"""Timers and answers as tasks: their order, and the promise jobs between them."""

from __future__ import annotations

import asyncio
import json

import pytest
from engines import OnEngine

from interpstack import Bridge, InterpreterStack, Limits, Session

_LATER = "await new Promise((go) => setTimeout(go, 40)); log.join()"
#: Timers that are due together, and what they log.
_TOGETHER = {
    "jobs run between two": (
        "setTimeout(() => { log.push('t1'); Promise.resolve().then(() => log.push('m1')) }, 1);"
        "setTimeout(() => log.push('t2'), 1)",
        "t1,m1,t2",
    ),
    "a job clears the next": (
        "let go; const done = new Promise((set) => { go = set }); setTimeout(go, 2);"
        "const guard = setTimeout(() => log.push('guard'), 2);"
        "(async () => { await done; clearTimeout(guard); log.push('done') })()",
        "done",
    ),
    "a job clears all intervals": (
        "const all = [1, 2, 3].map((n) => setInterval(() => {"
        " log.push(n); queueMicrotask(() => all.forEach(clearInterval)) }, 3))",
        "1",
    ),
    "jobs of jobs come first": (
        "setTimeout(async () => { for (const n of [1, 2, 3]) { await null; log.push(n) } }, 1);"
        "setTimeout(() => log.push('next'), 1)",
        "1,2,3,next",
    ),
    "one throws": (
        "setTimeout(() => { log.push(1); null.x }, 1); setTimeout(() => log.push(2), 1)",
        "1,2",
    ),
}


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(("code", "logged"), _TOGETHER.values(), ids=_TOGETHER)
async def test_timers_that_are_due_together(on_engine: OnEngine, code: str, logged: str) -> None:
    async with InterpreterStack(on_engine.name, ["console"]) as stack, stack.session() as session:
        outcome = await session.eval(f"const log = []; {code}; {_LATER}")
        assert (outcome.error, outcome.text) == (None, logged)


@pytest.mark.engines("javascript")
async def test_timers_fire_in_the_order_in_which_they_are_due(on_engine: OnEngine) -> None:
    code = """
        const log = [];
        for (let i = 0; i < 900; i++) setTimeout(() => log.push([7 - i % 7, i]), 7 - i % 7);
        await new Promise((go) => setTimeout(go, 100));
        JSON.stringify(log)
    """
    limits = Limits(result_chars=20_000)
    async with (
        InterpreterStack(on_engine.name, limits=limits) as stack,
        stack.session() as session,
    ):
        fired = json.loads((await session.eval(code)).text)
    assert fired == sorted([7 - i % 7, i] for i in range(900))


def _meeting(count: int) -> Bridge:
    """A bridge whose first `count` calls are answered at the same moment."""
    ready, calls = asyncio.Event(), 0

    async def meet(value: int) -> int:
        nonlocal calls
        calls += 1
        if calls == count:
            ready.set()
        await ready.wait()
        return value

    return Bridge(name="host.meet", handler=meet, raw=True)


@pytest.mark.engines("javascript")
async def test_an_answer_is_followed_by_all_that_waits_for_it(on_engine: OnEngine) -> None:
    """As if each answer had come alone; so code does not depend on which ones come together."""
    code = """
        const log = [];
        await Promise.all([1, 2, 3].map(async (n) => {
            await host.meet(n);
            for (const part of ["a", "b"]) { log.push(part + n); await null; }
        }));
        log.join()
    """

    async def logged(session: Session) -> str:
        return (await session.eval(code)).text

    for count in (1, 3):
        bridges = [_meeting(count)]
        async with (
            InterpreterStack(on_engine.name, bridges=bridges) as stack,
            stack.session() as session,
        ):
            parts = (await logged(session)).split(",")
            assert sorted(zip(parts[::2], parts[1::2], strict=True)) == [
                ("a1", "b1"),
                ("a2", "b2"),
                ("a3", "b3"),
            ]


@pytest.mark.engines("javascript")
async def test_answers_behind_the_end_of_a_cell_change_nothing(on_engine: OnEngine) -> None:
    code = (
        "setTimeout(() => { later = 'fired' }, 1); var later = 'never';"
        "await new Promise((go) => setTimeout(go, 0)); await 1; later"
    )
    async with InterpreterStack(on_engine.name) as stack, stack.session() as session:
        assert (await session.eval(code)).text == "never"
        assert (await session.eval("later")).text == "never"
