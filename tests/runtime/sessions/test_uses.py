"""Keepers of states: fetched before each use, told of each change, and given what sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from interpstack import InterpreterStack, SessionState, StateKeeper, StateSlot, hookimpl


@attrs.define(eq=False)
class _Keeper(StateKeeper):
    noted: list[Any]
    saved: dict[str, SessionState]
    key: str
    fails: Exception | None = None
    awake: bool = False
    entered: asyncio.Event = attrs.field(factory=asyncio.Event)

    async def enter(self, slot: StateSlot) -> None:
        if self.fails:
            raise self.fails
        self.noted.append("enter")
        if not self.awake and self.key in self.saved:
            await slot.restore(self.saved[self.key])
        self.awake = True
        self.entered.set()

    async def leave(self, slot: StateSlot, *, changed: bool) -> None:
        self.noted.append(f"leave {changed}")

    async def sleep(self, slot: StateSlot) -> None:
        if self.fails:
            raise self.fails
        self.noted.append("sleep")
        if self.awake:
            self.saved[self.key] = await slot.take()
            await slot.clear()
        self.awake = False


class _Keeping:
    name = "keeping"

    def __init__(self) -> None:
        self.noted: list[Any] = []
        self.saved: dict[str, SessionState] = {}
        self.keepers: dict[str, _Keeper] = {}

    @hookimpl
    def interpstack_keep_state(self, session: Any) -> StateKeeper:
        return self.keepers.setdefault(session.key, _Keeper(self.noted, self.saved, session.key))


@pytest.fixture
def keeping() -> _Keeping:
    return _Keeping()


@pytest.fixture
def stack(
    make_stack: Callable[..., InterpreterStack], imaging_engine: Any, keeping: _Keeping
) -> InterpreterStack:
    return make_stack(engine=imaging_engine, max_live_sessions=1, plugins=[keeping])


async def test_each_use_is_entered_and_left(stack: InterpreterStack, keeping: _Keeping) -> None:
    session = stack.session("a")
    for use, changes in (
        (session.eval("x = 1"), True),
        (session.eval_with_state("x = 1"), True),
        (session.load({"y": 2}), True),
        (session.restore_state(SessionState(values={"x": 1})), True),
        (session.reset(), True),
        (session.names(), False),
        (session.members(["x"]), False),
        (session.values(), False),
        (session.image(), False),
    ):
        keeping.noted.clear()
        await use  # type: ignore[misc]
        assert keeping.noted == ["enter", f"leave {changes}"]


async def test_what_hibernates_goes_to_the_keeper_and_comes_back(
    stack: InterpreterStack, keeping: _Keeping
) -> None:
    first, second = stack.session("a"), stack.session("b")
    await first.eval("x = 1")
    await second.eval("x = 2")
    assert (first.live, second.live) == (False, True)
    assert first._state.image is None  # no copy stays in memory
    assert keeping.saved["a"].values == {"x": 1}
    assert (await first.eval("x")).text == "1"


async def test_a_closing_stack_lets_its_sessions_sleep(
    stack: InterpreterStack, keeping: _Keeping
) -> None:
    await stack.session("a").eval("x = 1")
    await stack.aclose()
    assert keeping.saved["a"].values == {"x": 1}
    assert keeping.noted.count("sleep") == 1


async def test_a_state_that_no_keeper_takes_stays_in_memory(
    stack: InterpreterStack, keeping: _Keeping
) -> None:
    session = stack.session("a")
    await session.eval("x = 1")
    keeping.keepers["a"].fails = LookupError("no store today")
    with pytest.raises(LookupError, match="no store today"):
        await session.hibernate()
    assert not session.live
    keeping.keepers["a"].fails = None
    assert (await session.eval("x")).text == "1"


async def test_another_session_does_not_suffer_from_a_keeper_that_fails(
    stack: InterpreterStack, keeping: _Keeping, caplog: pytest.LogCaptureFixture
) -> None:
    await stack.session("a").eval("x = 1")
    keeping.keepers["a"].fails = LookupError("no store today")
    assert (await stack.session("b").eval("x = 2")).error is None
    assert "session 'a' could not hibernate" in caplog.text
    assert "no store today" in caplog.text
    keeping.keepers["a"].fails = None
    assert (await stack.session("a").eval("x")).text == "1"


async def test_a_keeper_refuses_a_use(stack: InterpreterStack, keeping: _Keeping) -> None:
    session = stack.session("a")
    keeping.keepers["a"].fails = LookupError("not now")
    with pytest.raises(LookupError, match="not now"):
        await session.eval("x = 1")
    assert keeping.noted == []
    keeping.keepers["a"].fails = None
    assert (await session.eval("1 + 1")).text == "2"


async def test_a_cancelled_use_is_left(stack: InterpreterStack, keeping: _Keeping) -> None:
    running = asyncio.create_task(stack.session("a").eval("await sleep(100)"))
    await keeping.keepers["a"].entered.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert keeping.noted == ["enter", "leave True"]


async def test_sessions_without_a_key_have_no_keeper(
    stack: InterpreterStack, keeping: _Keeping
) -> None:
    async with stack.session() as session:
        assert (await session.eval("1")).text == "1"
    assert keeping.keepers == {}
