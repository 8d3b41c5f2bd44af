"""A live session is only a cache of the state that is stored."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from live_evals import run_at

from interpstack import HostOffer, InterpreterStack, SessionClosed
from interpstack_agents import LiveSessions, SavedState, live_sessions, persistence_mode
from interpstack_agents.live_session import LiveSession


async def test_evals_go_on_and_may_go_back(sessions: LiveSessions) -> None:
    _, first = await run_at(sessions, [], "let n = 1")
    said, second = await run_at(sessions, first, "n += 10")
    assert said == "11"
    assert (await run_at(sessions, second, "n"))[0] == "11"
    assert (await run_at(sessions, first, "n"))[0] == "1"  # a fork
    assert (await run_at(sessions, [], "typeof n"))[0] == "undefined"


async def test_the_end_of_a_turn_leaves_alone_what_another_run_uses(sessions: LiveSessions) -> None:
    async with sessions.enter("o", SavedState(), HostOffer()) as live:
        await live.eval("let n = 1")
        await sessions.end_turn("o", close=True)
        assert (await live.eval("n + 1"))[0].text == "2"
        assert live.records
    await sessions.end_turn("o", close=True)
    with pytest.raises(SessionClosed):
        await live.session.eval("n")


def _live(stack: InterpreterStack, owners: str) -> str:
    return "".join(owner for owner in owners if stack.session(owner).live)


async def test_conversations_that_cannot_hibernate_are_closed_between_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("jsrun")
    monkeypatch.setattr(live_sessions, "_MAX_LIVE", 2)
    records: dict[str, Any] = {}
    async with InterpreterStack("v8", ["persistence"]) as stack:
        sessions = LiveSessions(stack, persistence_mode(stack, "thread")())
        for owner in "abc":  # none of whose turns has ended
            _, records[owner] = await run_at(sessions, [], f"var n = '{owner}'", owner)
        assert _live(stack, "abc") == "abc"
        await sessions.end_turn("b")
        assert _live(stack, "abc") == "ac"
        _, records["d"] = await run_at(sessions, [], "var n = 'd'", "d")
        async with sessions.enter("a", SavedState.of(records["a"]), HostOffer()) as live:
            for owner in "acd":  # one of which another eval uses
                await sessions.end_turn(owner)
            assert _live(stack, "abcd") == "ad"
            assert (await live.eval("n"))[0].text == "a"
        for owner in "abcd":  # each finds its own variables again
            assert (await run_at(sessions, records[owner], "n", owner))[0] == owner


async def test_conversations_that_can_hibernate_are_left_to_the_stack(
    sessions: LiveSessions, stack: InterpreterStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_sessions, "_MAX_LIVE", 1)
    for owner in "abc":
        await run_at(sessions, [], "var n = 1", owner)
        await sessions.end_turn(owner)
    assert _live(stack, "abc") == "abc"


def _known(stack: InterpreterStack) -> str:
    """The conversations that something in memory knows."""
    gc.collect()
    known = [one.session for one in gc.get_objects() if isinstance(one, LiveSession)]
    return "".join(sorted(session.key for session in known if session.stack is stack))


async def test_conversations_are_forgotten_between_turns_beyond_a_number(
    sessions: LiveSessions, stack: InterpreterStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_sessions, "_MAX_RESTING", 2)
    records: dict[str, Any] = {}
    for owner in "abcdef":
        _, records[owner] = await run_at(sessions, [], f"var n = '{owner}'", owner)
        if owner != "c":  # whose turn goes on
            await sessions.end_turn(owner)
    assert _known(stack) == "cf"
    for owner in "abcdef":  # each finds its own variables again
        assert (await run_at(sessions, records[owner], "n", owner))[0] == owner
