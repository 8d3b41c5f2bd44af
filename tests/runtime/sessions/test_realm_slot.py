"""How often a session goes to a guest thread, and its state where that goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from interpstack import EngineFailure, InterpreterStack
from interpstack.sessions import realm_slot
from interpstack.sessions.realm_slot import off_loop

Make = Callable[..., InterpreterStack]


@pytest.fixture
def hops(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was done in a guest thread for the state of sessions."""
    made: list[Any] = []

    async def counted(function: Any) -> Any:
        made.append(function)
        return await off_loop(function)

    monkeypatch.setattr(realm_slot, "off_loop", counted)
    return made


async def test_a_session_hibernates_in_one_hop_and_wakes_in_one(
    make_stack: Make, imaging_engine: Any, hops: list[Any]
) -> None:
    session = make_stack(engine=imaging_engine).session("a")
    async with session:
        await session.eval("x = 1")
    hops.clear()
    assert await session.hibernate()
    assert (len(hops), session.live) == (1, False)
    assert (await session.eval("x")).text == "1"
    assert len(hops) == 2


async def test_a_session_whose_image_fails_stays_as_it_is(
    make_stack: Make, imaging_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_stack(engine=imaging_engine).session("a")
    await session.eval("x = 1")
    realm = session._state.realm
    assert realm is not None

    def fail() -> Any:
        raise EngineFailure("no image")

    monkeypatch.setattr(type(realm), "image", lambda self: fail())
    with pytest.raises(EngineFailure, match="no image"):
        await session.hibernate()
    monkeypatch.undo()
    assert session.live
    assert (await session.eval("x")).text == "1"


async def test_a_session_keeps_its_state_although_its_hibernating_is_cancelled(
    make_stack: Make, imaging_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_stack(engine=imaging_engine).session("a")
    await session.eval("x = 1")
    realm = session._state.realm
    loop, begun = asyncio.get_running_loop(), asyncio.Event()
    image = type(realm).image

    def slow(self: Any) -> Any:
        loop.call_soon_threadsafe(begun.set)
        return image(self)

    monkeypatch.setattr(type(realm), "image", slow)
    hibernating = asyncio.ensure_future(session.hibernate())
    await begun.wait()
    hibernating.cancel()
    await asyncio.gather(hibernating, return_exceptions=True)
    assert (await session.eval("x")).text == "1"
