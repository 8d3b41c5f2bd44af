"""The session of a conversation is brought to the state that is stored."""

from __future__ import annotations

import pytest
from live_evals import run_at

from interpstack import HostOffer, InterpreterStack
from interpstack_agents import LiveSessions, SavedState, persistence_mode


async def test_another_process_goes_on_from_the_records(
    stack: InterpreterStack, sessions: LiveSessions
) -> None:
    _, records = await run_at(sessions, [], "let n = 1")
    other = LiveSessions(stack, sessions.mode, keys="other|")
    assert (await run_at(other, records, "n + 1"))[0] == "2"


async def test_damaged_records_are_said_and_never_written_over(sessions: LiveSessions) -> None:
    async with sessions.enter("o", SavedState(records="x", newest=3), HostOffer()) as live:
        outcome, record = await live.eval("1")
        assert live.detached
    assert record is None
    assert "could not be restored" in outcome.notices[0]


async def test_an_adapter_may_refuse_to_go_on_without_the_state(sessions: LiveSessions) -> None:
    with pytest.raises(LookupError, match="damaged"):
        async with sessions.enter(
            "o",
            SavedState(records="x", newest=3),
            HostOffer(),
            refuse=lambda e: LookupError(str(e)),
        ):
            pytest.fail("it went on")


async def test_variables_of_another_interpreter_are_named_once(sessions: LiveSessions) -> None:
    async with sessions.enter("o", SavedState(foreign=True), HostOffer()) as live:
        first, record = await live.eval("1")
    assert record is not None
    known = SavedState(records=[record], newest=record["sequence"], foreign=True)
    async with sessions.enter("o", known, HostOffer()) as live:
        second, _ = await live.eval("2")
    assert "stored by another interpreter" in first.notices[0]
    assert second.notices == ()


async def test_a_mode_that_stores_nothing_keeps_variables_for_one_turn(
    stack: InterpreterStack,
) -> None:
    sessions = LiveSessions(stack, persistence_mode(stack, "turn")())
    found, records = [], []
    for turn in ("one", "one", "two"):
        saved = SavedState(records=list(records), turn=turn)
        async with sessions.enter("o", saved, HostOffer()) as live:
            outcome, record = await live.eval("globalThis.n = (globalThis.n ?? 0) + 1")
            found.append(outcome.text)
        records = [record]
    assert found == ["1", "2", "1"]
