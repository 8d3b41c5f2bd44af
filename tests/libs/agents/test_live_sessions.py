"""A live session is only a cache of the state that is stored."""

from __future__ import annotations

import pytest
from live_evals import run_at

from interpstack import HostOffer, SessionClosed
from interpstack_agents import LiveSessions, SavedState


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
