"""The realm of a session: opened when needed, replaced whole or not at all, and its storage."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from interpstack import (
    BridgeSet,
    Engine,
    EngineFailure,
    Image,
    ImageError,
    InterpreterStack,
    Limits,
    SessionState,
    SessionStorage,
    StateSlot,
    hookimpl,
)
from interpstack.sessions import realm_slot
from interpstack.sessions.realm_slot import RealmSlot
from interpstack.sessions.states import expanded

Make = Callable[..., InterpreterStack]


@attrs.define
class _World:
    """A slot, and the notices of its session."""

    slot: RealmSlot
    notices: list[str]
    offer: list[BridgeSet]
    uses: list[None]
    moves: list[tuple[bool, int]]


@pytest.fixture
def world(imaging_engine: Any) -> _World:
    notices: list[str] = []
    offer = [BridgeSet()]
    uses: list[None] = []
    moves: list[tuple[bool, int]] = []
    slot = RealmSlot(
        engine=imaging_engine,
        limits=Limits,
        bridges=lambda: offer[-1],
        used=lambda: uses.append(None),
        notify=notices.append,
        on_hibernation=lambda wakes, began, size: moves.append((wakes, size)),
    )
    return _World(slot, notices, offer, uses, moves)


async def _hold(world: _World, **values: Any) -> Any:
    realm = await world.slot.ready()
    realm.load(values)
    return realm


async def _values(world: _World) -> dict[str, Any]:
    return dict((await world.slot.ready()).values())


async def test_a_realm_is_opened_once_and_bound_again_for_another_offer(
    world: _World, monkeypatch: pytest.MonkeyPatch
) -> None:
    realm = await _hold(world, a=1)
    bound: list[Any] = []
    monkeypatch.setattr(realm, "bind", bound.append)
    assert await world.slot.ready() is realm
    assert bound == []
    world.offer.append(BridgeSet())
    assert await world.slot.ready() is realm
    assert bound == [world.offer[-1]]
    await world.slot.ready()
    assert len(bound) == 1
    assert len(world.uses) == 4


async def test_a_hibernated_realm_comes_back_with_its_state(world: _World) -> None:
    await world.slot.hibernate()
    assert await world.slot.whole_image() is None
    await _hold(world, a=1)
    await world.slot.hibernate()
    assert world.slot.realm is None
    whole = await world.slot.whole_image()
    assert whole is not None
    assert world.slot.image is not None
    assert expanded(world.slot.image) == whole
    assert await _values(world) == {"a": 1}
    assert world.slot.image is None  # a stale one would come back later


async def test_a_state_that_cannot_be_reopened_is_reported_and_dropped(
    world: _World, imaging_engine: Any
) -> None:
    await _hold(world, a=1)
    await world.slot.hibernate()
    imaging_engine.base = "v2"
    assert await _values(world) == {}
    assert world.notices == [
        "The state of earlier cells could not be restored: the image was made by another build"
    ]


async def test_a_restored_image_replaces_the_state(world: _World) -> None:
    await _hold(world, a=1)
    state = await world.slot.take()
    old = await _hold(world, a=2, b=3)
    closed: list[int] = []
    old.close = lambda: closed.append(threading.get_ident())
    assert await world.slot.restore(state) == ()
    assert await _values(world) == {"a": 1}
    assert len(closed) == 1
    assert closed[0] != threading.get_ident()  # engines may wait while they close


async def test_without_an_image_that_opens_the_values_are_restored(world: _World) -> None:
    lost = {"a": 1, "f": {"$": "lost", "v": "a function"}}
    state = SessionState(image=Image("imaging", "v0", b"{}"), values=lost)
    notices = await world.slot.restore(state)
    assert notices == (
        "Variables of earlier cells were restored from their values. Not restored: f (a function).",
    )
    assert (await _values(world))["a"] == 1


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (SessionState(), "nothing of the state was stored"),
        (SessionState(image=Image("imaging", "v0", b"{}")), "another build"),
        (SessionState(image=Image("imaging", "v1", "text")), "it takes two strings and bytes"),  # type: ignore[arg-type]
        (SessionState(values={"a": {"$": "date", "v": "x"}}), "the stored value of 'a' is damaged"),
    ],
)
async def test_a_state_that_cannot_be_restored_leaves_the_old_one(
    world: _World, state: SessionState, message: str
) -> None:
    realm = await _hold(world, a=1)
    with pytest.raises(ImageError, match=message):
        await world.slot.restore(state)
    assert world.slot.realm is realm
    assert await _values(world) == {"a": 1}


async def test_an_engine_that_breaks_on_an_image_is_an_image_error(
    world: _World, imaging_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = await world.slot.take()

    def fail(*args: Any) -> Any:
        raise EngineFailure("out of memory")

    monkeypatch.setattr(imaging_engine, "open", fail)
    with pytest.raises(ImageError, match="the image cannot be opened: out of memory"):
        await world.slot.restore(attrs.evolve(state, values=None))


async def test_a_realm_that_cannot_take_its_values_is_closed(
    world: _World, imaging_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await _hold(world, a=1)
    opened: list[Any] = []
    closed: list[Any] = []
    make = imaging_engine.open

    def open_broken(*args: Any) -> Any:
        realm = make(*args)

        def fail(values: Any) -> None:
            raise EngineFailure("it is full")

        realm.load, realm.close = fail, lambda: closed.append(realm)
        opened.append(realm)
        return realm

    monkeypatch.setattr(imaging_engine, "open", open_broken)
    with pytest.raises(ImageError, match="the stored values cannot be loaded: it is full"):
        await world.slot.restore(SessionState(values={"b": 2}))
    assert closed == opened
    assert world.slot.realm is old


async def test_a_state_is_put_back_after_a_cell_that_ends_early(world: _World) -> None:
    await _hold(world, a=1)
    state = await world.slot.take()
    await _hold(world, a=2)
    await world.slot.put_back(state)
    assert await _values(world) == {"a": 1}
    await world.slot.put_back(SessionState(values={"a": 3}))
    assert await _values(world) == {"a": 3}
    assert world.notices == []
    await world.slot.put_back(SessionState(values={"a": 3, "f": {"$": "lost", "v": "a function"}}))
    assert world.notices.pop().endswith("Not restored: f (a function).")
    await world.slot.put_back(SessionState())
    assert world.notices == ["Variables of earlier cells are lost: the engine cannot restore them."]


async def test_an_image_in_the_middle_of_a_cell_is_used_if_it_opens(world: _World) -> None:
    assert await world.slot.open_in_the_middle(None) is None
    assert await world.slot.open_in_the_middle(Image("imaging", "v0", b"{}")) is None
    middle = await world.slot.open_in_the_middle(Image("imaging", "v1", b'{"a": 7}'))
    assert middle is not None
    assert world.slot.realm is None  # not held until the caller says so
    await world.slot.replace(middle)
    assert await _values(world) == {"a": 7}


async def test_a_realm_whose_user_is_gone_is_given_up_and_reported(world: _World) -> None:
    world.slot.abandon()
    assert world.notices == []
    realm = await _hold(world, a=1)
    closed: list[None] = []
    realm.close = lambda: closed.append(None)
    world.slot.abandon()
    assert (world.slot.realm, closed) == (None, [])  # somebody may still run in it
    assert "the event loop of a cell was closed" in world.notices[0]


async def test_clearing_forgets_the_image_too(world: _World) -> None:
    await _hold(world, a=1)
    await world.slot.hibernate()
    await world.slot.clear()
    assert await world.slot.whole_image() is None
    assert await _values(world) == {}


# -- hops to a thread, and what goes wrong in them -------------------------------------------------


@pytest.fixture
def hops(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was done in a guest thread for the state of sessions."""
    made: list[Any] = []

    def counting(off_loop: Any) -> Any:
        async def counted(*args: Any) -> Any:
            made.append(args[-1])
            return await off_loop(*args)

        return counted

    monkeypatch.setattr(realm_slot, "off_loop", counting(realm_slot.off_loop))
    monkeypatch.setattr(Engine, "off_loop", counting(Engine.off_loop))
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


async def test_what_sleeps_and_wakes_is_noted_with_its_size(world: _World) -> None:
    await _hold(world, a=1)
    assert world.moves == []  # a new realm does not wake
    assert await world.slot.sleep()
    assert not await world.slot.sleep()
    image = world.slot.image
    assert image is not None
    await world.slot.ready()
    assert world.moves == [(False, len(image.data)), (True, len(image.data))]
    world.moves.clear()
    whole = expanded(image)
    for state in (SessionState(values={"a": 2}), SessionState(image=whole)):
        await world.slot.clear()
        await world.slot.restore(state)
        await world.slot.restore(state)  # it is awake
    assert world.moves == [(True, 0), (True, len(whole.data))]


# -- storages: load before each use, note each change, take the state of sleeping sessions ----


@attrs.define(eq=False)
class _Storage(SessionStorage):
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
        self.storages: dict[str, _Storage] = {}

    @hookimpl
    def interpstack_keep_state(self, session: Any) -> SessionStorage:
        return self.storages.setdefault(session.key, _Storage(self.noted, self.saved, session.key))


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


async def test_a_state_that_no_storage_takes_stays_in_memory(
    stack: InterpreterStack, keeping: _Keeping
) -> None:
    session = stack.session("a")
    await session.eval("x = 1")
    keeping.storages["a"].fails = LookupError("no store today")
    with pytest.raises(LookupError, match="no store today"):
        await session.hibernate()
    assert not session.live
    keeping.storages["a"].fails = None
    assert (await session.eval("x")).text == "1"


async def test_another_session_does_not_suffer_from_a_keeper_that_fails(
    stack: InterpreterStack, keeping: _Keeping, caplog: pytest.LogCaptureFixture
) -> None:
    await stack.session("a").eval("x = 1")
    keeping.storages["a"].fails = LookupError("no store today")
    assert (await stack.session("b").eval("x = 2")).error is None
    assert "session 'a' could not hibernate" in caplog.text
    assert "no store today" in caplog.text
    keeping.storages["a"].fails = None
    assert (await stack.session("a").eval("x")).text == "1"


async def test_a_keeper_refuses_a_use(stack: InterpreterStack, keeping: _Keeping) -> None:
    session = stack.session("a")
    keeping.storages["a"].fails = LookupError("not now")
    with pytest.raises(LookupError, match="not now"):
        await session.eval("x = 1")
    assert keeping.noted == []
    keeping.storages["a"].fails = None
    assert (await session.eval("1 + 1")).text == "2"


async def test_a_cancelled_use_is_left(stack: InterpreterStack, keeping: _Keeping) -> None:
    running = asyncio.create_task(stack.session("a").eval("await sleep(100)"))
    await keeping.storages["a"].entered.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert keeping.noted == ["enter", "leave True"]


async def test_sessions_without_a_key_have_no_keeper(
    stack: InterpreterStack, keeping: _Keeping
) -> None:
    async with stack.session() as session:
        assert (await session.eval("1")).text == "1"
    assert keeping.storages == {}
