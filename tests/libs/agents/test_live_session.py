"""Evals in a live session, and what they leave behind."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import pytest
from live_evals import run_at

from interpstack import ConfigurationError, HostOffer
from interpstack_agents import LiveSessions, SavedState


async def test_an_eval_that_is_left_or_undone_counts_for_nothing(sessions: LiveSessions) -> None:
    _, records = await run_at(sessions, [], "let n = 1")
    saved = SavedState.of(records)
    held = sessions.enter("o", saved, HostOffer())
    await (await held.__aenter__()).eval("n = 5")
    left = ZeroDivisionError()
    assert not await held.__aexit__(ZeroDivisionError, left, None)
    assert (await run_at(sessions, records, "n"))[0] == "1"
    async with sessions.enter("o", saved, HostOffer()) as live:
        outcome, record = await live.eval("n = 5", undoes=lambda outcome: outcome.text == "5")
    assert (outcome.text, record) == ("5", None)
    assert (await run_at(sessions, records, "n"))[0] == "1"


async def test_a_session_runs_cells_only_while_it_is_held(sessions: LiveSessions) -> None:
    async with sessions.enter("o", SavedState(), HostOffer()) as live:
        await live.eval("1")
    with pytest.raises(ConfigurationError, match=r"only inside `async with LiveSessions\.enter"):
        await live.eval("1")


async def test_a_state_is_packed_with_the_context_of_the_caller(
    sessions: LiveSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant, seen = ContextVar("tenant", default=""), list[str]()
    dump = sessions.mode.dump

    def noting(*args: Any) -> Any:
        seen.append(tenant.get())
        return dump(*args)

    monkeypatch.setattr(sessions.mode, "dump", noting)
    tenant.set("a")
    await run_at(sessions, [], "let n = 1")
    assert seen == ["a"]
