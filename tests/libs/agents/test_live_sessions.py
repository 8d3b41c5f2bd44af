"""A live session is only a cache of the state that is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from interpstack import ConfigurationError, HostOffer, InterpreterStack, SessionClosed
from interpstack_agents import LiveSessions, SavedState, joined, persistence_mode

OFFER = HostOffer()


@pytest.fixture
def stack() -> Iterator[InterpreterStack]:
    with InterpreterStack(plugins=["persistence"]) as made:
        yield made


@pytest.fixture
def sessions(stack: InterpreterStack) -> LiveSessions:
    return LiveSessions(stack, persistence_mode(stack, "thread")())


async def run(sessions: LiveSessions, records: list[Any], code: str) -> tuple[str, list[Any]]:
    """An eval at the state behind records; its result, and the records with its own."""
    async with sessions.enter("o", SavedState.of(records), OFFER) as live:
        outcome, record = await live.eval(code)
    return outcome.text, joined(list(records), [[record]] if record else [])


async def test_evals_go_on_and_may_go_back(sessions: LiveSessions) -> None:
    _, first = await run(sessions, [], "let n = 1")
    said, second = await run(sessions, first, "n += 10")
    assert said == "11"
    assert (await run(sessions, second, "n"))[0] == "11"
    assert (await run(sessions, first, "n"))[0] == "1"  # a fork
    assert (await run(sessions, [], "typeof n"))[0] == "undefined"


async def test_another_process_goes_on_from_the_records(
    stack: InterpreterStack, sessions: LiveSessions
) -> None:
    _, records = await run(sessions, [], "let n = 1")
    other = LiveSessions(stack, sessions.mode, keys="other|")
    assert (await run(other, records, "n + 1"))[0] == "2"


async def test_an_eval_that_is_left_or_undone_counts_for_nothing(sessions: LiveSessions) -> None:
    _, records = await run(sessions, [], "let n = 1")
    saved = SavedState.of(records)
    held = sessions.enter("o", saved, OFFER)
    await (await held.__aenter__()).eval("n = 5")
    left = ZeroDivisionError()
    assert not await held.__aexit__(ZeroDivisionError, left, None)
    assert (await run(sessions, records, "n"))[0] == "1"
    async with sessions.enter("o", saved, OFFER) as live:
        outcome, record = await live.eval("n = 5", undoes=lambda outcome: outcome.text == "5")
    assert (outcome.text, record) == ("5", None)
    assert (await run(sessions, records, "n"))[0] == "1"


async def test_damaged_records_are_said_and_never_written_over(sessions: LiveSessions) -> None:
    async with sessions.enter("o", SavedState(records="x", newest=3), OFFER) as live:
        outcome, record = await live.eval("1")
        assert live.detached
    assert record is None
    assert "could not be restored" in outcome.notices[0]


async def test_an_adapter_may_refuse_to_go_on_without_the_state(sessions: LiveSessions) -> None:
    with pytest.raises(LookupError, match="damaged"):
        async with sessions.enter(
            "o", SavedState(records="x", newest=3), OFFER, refuse=lambda e: LookupError(str(e))
        ):
            pytest.fail("it went on")


async def test_a_session_runs_cells_only_while_it_is_held(sessions: LiveSessions) -> None:
    async with sessions.enter("o", SavedState(), OFFER) as live:
        await live.eval("1")
    with pytest.raises(ConfigurationError, match=r"only inside `async with LiveSessions\.enter"):
        await live.eval("1")


async def test_the_end_of_a_turn_leaves_alone_what_another_run_uses(sessions: LiveSessions) -> None:
    async with sessions.enter("o", SavedState(), OFFER) as live:
        await live.eval("let n = 1")
        await sessions.end_turn("o", close=True)
        assert (await live.eval("n + 1"))[0].text == "2"
        assert live.records
    await sessions.end_turn("o", close=True)
    with pytest.raises(SessionClosed):
        await live.session.eval("n")
