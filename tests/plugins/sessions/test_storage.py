"""Sessions that several stacks use in turn: fetched, saved, claimed and lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from away_store import AwayStore

from interpstack import InterpreterStack, SessionState, bridge
from interpstack_state import (
    BlobStore,
    MemoryStore,
    StateBusy,
    StateRejected,
    StoreUnavailable,
)
from interpstack_testing import FakeEngine

Make = Callable[..., InterpreterStack]


class _Counting(MemoryStore):
    claims = 0

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        self.claims += 1
        return super().claim(key, token, seconds)


async def test_every_stack_goes_on_from_the_last_cell(make: Make) -> None:
    one, other = make().session("talk"), make().session("talk")
    for number, session in enumerate([one, other, other, one, other, one]):
        outcome = await session.eval(f"x = {number}; y = globals().get('y', []) + [x]\ny")
        assert outcome.text == str(list(range(number + 1))).replace("'", "")
        assert outcome.notices == ()


async def test_a_session_whose_state_is_still_current_is_not_fetched_again(make: Make) -> None:
    store = _Counting()
    session = make(store=store).session("talk")
    for _ in range(3):
        await session.eval("x = globals().get('x', 0) + 1")
    assert store.claims == 1
    assert (await make(store=store).session("talk").eval("x")).text == "3"
    assert (await session.eval("x")).text == "3"
    assert store.claims == 3


async def test_other_sessions_are_not_touched(make: Make) -> None:
    one, other = make(), make()
    await one.session("a").eval("x = 'a'")
    await one.session("b").eval("x = 'b'")
    assert (await other.session("a").eval("x")).text == "a"
    assert (await other.session("b").eval("x")).text == "b"


async def test_a_session_is_busy_while_its_cell_runs(make: Make) -> None:
    running, end = asyncio.Event(), asyncio.Event()

    @bridge
    async def hold() -> None:
        running.set()
        await end.wait()

    one, other = make(hold).session("talk"), make().session("talk")
    cell = asyncio.create_task(one.eval("await hold()\nx = 1"))
    await running.wait()
    with pytest.raises(StateBusy):
        await other.eval("x = 2")
    end.set()
    assert (await cell).error is None
    assert (await other.eval("x")).text == "1"


async def test_a_cell_whose_session_is_taken_is_stopped(make: Make, store: BlobStore) -> None:
    running = asyncio.Event()

    @bridge
    async def hold() -> None:
        running.set()
        await asyncio.Event().wait()

    one, other = make(hold, claim_seconds=0.3).session("talk"), make().session("talk")
    await one.eval("x = 1")
    cell = asyncio.create_task(one.eval("x = 2\nawait hold()"))
    await running.wait()
    store.delete("talk")  # as when its process had stopped for longer than its claim
    await other.eval("x = 3")
    outcome = await cell
    assert outcome.error is not None
    assert outcome.error.name == "SessionTaken"
    assert outcome.state == "lost"
    assert "another process continued the session" in outcome.loss
    assert (await one.eval("x")).text == "3"


async def test_a_stale_owner_saves_nothing(make: Make, store: BlobStore) -> None:
    """A process that was stopped during a cell finds out when it saves."""
    other = make().session("talk")

    @bridge
    async def stall() -> None:
        (found,) = [one for one in store.blobs() if one.key == "talk"]
        assert found.claimed
        store.delete("talk")
        await other.eval("x = 'of the other'")

    one = make(stall).session("talk")
    await one.eval("x = 'first'")
    outcome = await one.eval("await stall()\nx = 'stale'")
    assert (outcome.error, outcome.state) == (None, "lost")
    assert (await other.eval("x")).text == "of the other"
    assert (await one.eval("x")).text == "of the other"


async def test_with_sleep_a_state_is_saved_when_the_session_hibernates(
    make: Make, store: BlobStore
) -> None:
    one, other = make(saves="sleep").session("talk"), make(saves="sleep").session("talk")
    await one.eval("x = 1")
    with pytest.raises(StateBusy):
        await other.eval("x = 2")
    (found,) = store.blobs()
    assert found.size == 0
    assert await one.hibernate()
    assert not one.live
    assert (await other.eval("x")).text == "1"
    with pytest.raises(StateBusy):
        await one.eval("x")


async def test_with_sleep_a_closing_stack_saves(make: Make, store: BlobStore) -> None:
    stack = make(saves="sleep")
    await stack.session("talk").eval("x = 1")
    await stack.aclose()
    assert (await make().session("talk").eval("x")).text == "1"


async def test_unsaved_changes_before_another_process_continued_are_reported(
    make: Make, store: BlobStore
) -> None:
    one, other = make(saves="sleep").session("talk"), make().session("talk")
    await one.eval("x = 1")
    store.delete("talk")  # as after the end of its claim
    await other.eval("x = 2")
    outcome = await one.eval("x")
    assert outcome.text == "2"
    assert "another process continued this session" in outcome.notices[0]
    await one.eval("x = 3")
    store.delete("talk")
    await other.eval("x = 4")
    await one.hibernate()
    assert (await other.eval("x")).text == "4"


async def test_changes_without_a_cell_are_saved(make: Make) -> None:
    one, other = make().session("talk"), make().session("talk")
    await one.load({"x": 1})
    assert (await other.eval("x")).text == "1"
    await one.restore_state(SessionState(values={"x": 2}))
    assert dict(await other.values()) == {"x": 2}
    await one.reset()
    assert list(await other.names()) == []


async def test_a_cancelled_cell_is_saved_and_leaves_the_session_free(make: Make) -> None:
    running = asyncio.Event()

    @bridge
    async def hold() -> None:
        running.set()
        await asyncio.Event().wait()

    cell = asyncio.create_task(make(hold).session("talk").eval("x = 1\nawait hold()"))
    await running.wait()
    cell.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cell
    assert (await make().session("talk").eval("x")).text == "1"


async def test_a_store_that_is_away_costs_no_outcome_and_no_variables(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    store = AwayStore()

    @bridge
    def fall() -> None:
        store.away = True

    session = make(fall, store=store).session("talk")
    outcome = await session.eval("fall()\nx = 1\nx")
    assert outcome.text == "1"
    assert "Variables are not saved yet" in outcome.notices[0]
    assert "session 'talk' was not saved: the store is away" in caplog.text
    with pytest.raises(StoreUnavailable):  # whether another process has it, nobody knows
        await session.eval("x = 2")
    with pytest.raises(StoreUnavailable):
        await session.hibernate()
    store.away = False
    assert (await session.eval("x")).text == "1"
    assert (await make(store=store).session("talk").eval("x")).text == "1"


@pytest.mark.parametrize("damage", ["damaged", "foreign"])
async def test_a_state_that_cannot_be_used_is_refused_and_stays(
    make: Make, store: BlobStore, damage: str
) -> None:
    for key in ("talk", "other"):
        await make().session(key).eval(f"x = {key!r}")
    data = store.claim("other" if damage == "foreign" else "talk", "attacker", 0)
    assert data is not None
    store.claim("talk", "attacker", 9)
    bad = data if damage == "foreign" else data[:-1] + b"?"
    store.save("talk", "attacker", bad, 0)
    session = make().session("talk")
    for _ in range(2):
        with pytest.raises(StateRejected, match="damaged, or belongs to another session"):
            await session.eval("x = 1")
    assert store.claim("talk", "attacker", 0) == bad  # neither changed nor claimed
    store.delete("talk")
    assert (await session.eval("'x' in globals()")).text == "False"


async def test_an_upgraded_engine_goes_on_with_the_values(make: Make, imaging_engine: Any) -> None:
    await make().session("talk").eval("x = 1; f = lambda: x")
    imaging_engine.base = "v2"
    outcome = await make(engine=imaging_engine).session("talk").eval("x")
    assert outcome.text == "1"
    assert outcome.notices == (
        "Variables of earlier cells were restored from their values. Not restored: f.",
    )


async def test_an_engine_without_images_saves_values(make: Make) -> None:
    await make(engine=FakeEngine()).session("talk").eval("x = [1, 2]")
    assert (await make(engine=FakeEngine()).session("talk").eval("x")).text == "[1, 2]"


async def test_sessions_of_one_stack_run_side_by_side(make: Make) -> None:
    stack = make()
    outcomes = await asyncio.gather(
        *(stack.session(f"talk {n % 10}").eval("x = globals().get('x', 0) + 1") for n in range(50))
    )
    assert [one.error for one in outcomes] == [None] * 50
    ends = await asyncio.gather(*(make().session(f"talk {n}").eval("x") for n in range(10)))
    assert [one.text for one in ends] == ["5"] * 10


def test_synchronous_callers_are_served_too(make: Make) -> None:
    with make().session("talk") as session:
        session.eval_sync("x = 1")
    with make().session("talk") as session:
        assert session.eval_sync("x").text == "1"
