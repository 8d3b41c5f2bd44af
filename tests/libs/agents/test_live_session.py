"""Evals in a live session, and what they leave behind."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import pytest
from live_evals import run_at

from interpstack import ConfigurationError, HostOffer
from interpstack_agents import LiveSessions, QueuePosition, SavedState, joined


async def test_an_eval_that_is_left_or_undone_counts_for_nothing(sessions: LiveSessions) -> None:
    _, records = await run_at(sessions, [], "let n = 1")
    saved = SavedState.of(records)
    session = sessions.enter("o", saved, HostOffer())
    await (await session.__aenter__()).eval("n = 5")
    left = ZeroDivisionError()
    assert not await session.__aexit__(ZeroDivisionError, left, None)
    assert (await run_at(sessions, records, "n"))[0] == "1"
    async with sessions.enter("o", saved, HostOffer()) as live:
        outcome, record = await live.eval("n = 5", undoes=lambda outcome: outcome.text == "5")
    assert (outcome.text, record) == ("5", None)
    assert (await run_at(sessions, records, "n"))[0] == "1"


async def test_no_record_builds_on_one_that_may_not_be_stored(sessions: LiveSessions) -> None:
    _, first = await run_at(sessions, [], "let n = 1")
    made = []
    async with sessions.enter("o", SavedState.of(first), HostOffer()) as live:
        for again in (True, False, False):
            made.append((await live.eval("n += 1", again=again))[1])
    assert all(made)
    contested, complete, last = made
    assert contested["previous"] == first[-1]["checksum"]
    assert complete["previous"] == b""
    assert last["previous"] == complete["checksum"]
    other = {**contested, "data": b"of another run", "checksum": b"another"}
    assert (await run_at(sessions, joined([*first, other], [[complete], [last]]), "n"))[0] == "4"


async def test_evals_of_a_message_go_on_from_any_state_before_the_last_of_them(
    sessions: LiveSessions,
) -> None:
    _, records = await run_at(sessions, [], "let n = 0")

    async def run(index: int, records: list[Any]) -> tuple[str, Any]:
        position = QueuePosition("m", index)
        saved = SavedState.of(records)
        async with sessions.enter("o", saved, HostOffer(), position=position) as live:
            outcome, record = await live.eval(f"n += {10**index}; n")
        return outcome.text, record

    said, first = await run(0, records)
    assert said == "1"
    ended = joined(list(records), [[first]])  # a run that resumes the message begins here
    assert (await run(1, ended))[0] == "11"
    assert (await run(2, ended))[0] == "111", "it goes on from the second eval"
    assert (await run(1, ended))[0] == "11", "the second eval does not go on from itself"
    said, first = await run(0, records)
    assert said == "1", "nor does the first one"
    assert (await run(1, joined(list(records), [[first]])))[0] == "11"
    assert (await run(2, records))[0] == "111", "it may have seen the state before the first one"


async def test_a_session_runs_cells_only_while_an_eval_uses_it(sessions: LiveSessions) -> None:
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
