"""The sessions of a stack: the same one for the same key, a bounded number of them live."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from interpstack import (
    ConfigurationError,
    EngineFailure,
    InterpreterStack,
    Session,
    SessionClosed,
    hookimpl,
)
from interpstack_testing import FakeEngine


async def _used(stack: InterpreterStack, *keys: str) -> list[Any]:
    """Sessions in each of which a cell has run, in this order."""
    sessions = []
    for key in keys:
        async with stack.session(key) as session:
            await session.eval(f"name = {key!r}")
            sessions.append(session)
    return sessions


@pytest.fixture
def stack(make_stack: Callable[..., InterpreterStack], imaging_engine: Any) -> InterpreterStack:
    return make_stack(engine=imaging_engine, max_live_sessions=2)


def test_a_key_is_a_text(stack: InterpreterStack) -> None:
    assert stack.session("a") is stack.session("a")
    assert stack.session() is not stack.session()
    for key in ("", 5, b"a"):
        with pytest.raises(ConfigurationError, match="a session key is a non-empty string; got"):
            stack.session(key)  # type: ignore[arg-type]


async def test_the_session_idle_longest_hibernates_and_wakes_with_its_state(
    stack: InterpreterStack,
) -> None:
    first, second, third = await _used(stack, "a", "b", "c")
    assert [s.live for s in (first, second, third)] == [False, True, True]
    assert (await first.eval("name")).text == "a"
    assert [s.live for s in (first, second, third)] == [True, False, True]


async def test_a_use_makes_a_session_the_youngest(stack: InterpreterStack) -> None:
    first, second = await _used(stack, "a", "b")
    await _used(stack, "a")
    (third,) = await _used(stack, "c")
    assert [s.live for s in (first, second, third)] == [True, False, True]


async def test_a_session_in_use_stays_live_beyond_the_bound(stack: InterpreterStack) -> None:
    async with stack.session("a") as held:
        await held.eval("name = 'a'")
        await _used(stack, "b", "c", "d")
        assert held.live
        assert sum(stack.session(key).live for key in "abcd") == 2
    assert held.live or (await held.eval("name")).text == "a"


async def test_a_session_that_cannot_hibernate_still_counts(
    stack: InterpreterStack, imaging_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = await _used(stack, "a")
    realm = first._state.realm

    def fail() -> Any:
        raise EngineFailure("no image today")

    monkeypatch.setattr(realm, "image", fail)
    await _used(stack, "b", "c")
    assert first.live  # its state is not thrown away
    monkeypatch.undo()
    await _used(stack, "d")
    assert not first.live
    assert sum(stack.session(key).live for key in "abcd") == 2


async def test_sessions_without_a_key_end_with_their_block(stack: InterpreterStack) -> None:
    async with stack.session() as session:
        await session.eval("1")
    with pytest.raises(SessionClosed):
        await session.eval("1")


async def test_a_session_that_a_plugin_refuses_is_not_made() -> None:
    class Refusing:
        name = "refusing"
        open = False

        @hookimpl
        def interpstack_session_opened(self) -> None:
            if not self.open:
                raise LookupError("no room")

    plugin = Refusing()
    with InterpreterStack(FakeEngine(), [plugin]) as stack:
        for _ in range(2):  # nothing of it is left
            with pytest.raises(LookupError, match="no room"):
                stack.session("a")
        plugin.open = True
        assert (await stack.session("a").eval("1")).text == "1"


async def test_closing_the_stack_closes_all_sessions_although_one_fails(
    stack: InterpreterStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await _used(stack, "a", "b")

    def fail() -> None:
        raise EngineFailure("it does not close")

    monkeypatch.setattr(first._state.realm, "close", fail)
    with pytest.raises(EngineFailure, match="it does not close"):
        await stack.aclose()
    with pytest.raises(SessionClosed):
        await second.eval("1")
    with pytest.raises(SessionClosed, match="the stack was closed; make a new InterpreterStack"):
        stack.session("c")


async def test_a_closed_session_makes_room_for_a_new_one_of_its_key(
    stack: InterpreterStack,
) -> None:
    (old,) = await _used(stack, "a")
    await old.aclose()
    (new,) = await _used(stack, "a")
    assert new is not old
    assert (await new.eval("name")).text == "a"


async def test_many_at_once_stay_within_the_bound(stack: InterpreterStack) -> None:
    async def use(key: str) -> str:
        async with stack.session(key) as session:
            await session.eval(f"name = {key!r}")
            await asyncio.sleep(0)
            text: str = (await session.eval("name")).text
            return text

    keys = [f"s{n}" for n in range(20)]
    assert await asyncio.gather(*map(use, keys)) == keys
    assert sum(stack.session(key).live for key in keys) <= 2


async def test_sessions_to_hibernate_are_shared_out_among_all_who_wait(
    make_stack: Callable[..., InterpreterStack], imaging_engine: Any, monkeypatch: Any
) -> None:
    """Nobody takes them all, and so waits for all of them."""
    stack = make_stack(engine=imaging_engine, max_live_sessions=8)
    sessions = await _used(stack, *(f"s{n}" for n in range(8)))
    hibernate, three_at_once, going = Session.hibernate, asyncio.Event(), []

    async def slowly(session: Session) -> bool:
        going.append(session.key)
        if len(going) == 3:
            three_at_once.set()
        await three_at_once.wait()
        return await hibernate(session)

    monkeypatch.setattr(Session, "hibernate", slowly)
    stack._pool._max_live = 2
    async with asyncio.timeout(60):
        await asyncio.gather(*(stack._pool.trim() for _ in range(3)))
    assert going == [f"s{n}" for n in range(6)]
    assert [session.live for session in sessions] == [False] * 6 + [True] * 2


async def test_plugins_register_once_for_all_sessions_that_are_bound_to_no_offer() -> None:
    offers = []

    class Plugin:
        @hookimpl
        def interpstack_register_bridges(self, offer: Any) -> None:
            offers.append(offer)

    async with InterpreterStack(FakeEngine(), plugins=[Plugin()]) as stack:
        for n in range(40):
            await stack.session(f"s{n}").eval("x = 1")
    assert len(offers) == 1
