"""Evals in live sessions."""

from __future__ import annotations

from typing import Any

from interpstack import HostOffer
from interpstack_agents import LiveSessions, SavedState, joined

__all__ = ["run_at"]


async def run_at(
    sessions: LiveSessions, records: list[Any], code: str, owner: str = "o"
) -> tuple[str, list[Any]]:
    """An eval at the state behind records; its result, and the records with its own."""
    async with sessions.enter(owner, SavedState.of(records), HostOffer()) as live:
        outcome, record = await live.eval(code)
    return outcome.text, joined(list(records), [[record]] if record else [])
