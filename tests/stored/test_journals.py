"""A journal of another form leaves everything as it is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from scripted import answers
from stored_forms import PAYING, Account, agent, turn

from interpstack_durable.api import UnreadableJournal

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "first"}}


def approve(kind: str = "approve") -> Command[Any]:
    return Command(resume={"decisions": [{"type": kind}]})


def rewrite(saver: InMemorySaver, **changes: Any) -> None:
    """Change the first entries of all journals."""
    for writes in saver.writes.values():
        for place, (task, channel, stored, path) in writes.items():
            value = saver.serde.loads_typed(stored)
            if channel == "interpreter_ledger" and "version" in value:
                found = saver.serde.dumps_typed({**value, **changes})
                writes[place] = (task, channel, found, path)


@pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("by_id", [True, False], ids=["by id", "plain"])
@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"version": 3, "release": "9.9.9"}, r"the form 3, written by interpstack 9\.9\.9; "),
        ({"version": 1}, "the form 1, written by interpstack "),
        ({"version": "2"}, "the form '2', written by "),
        ({"version": None}, "the form None, written by "),
    ],
)
async def test_a_journal_of_an_unknown_form_leaves_the_pause_and_the_approval(
    changes: dict[str, Any], found: str, by_id: bool, use_async: bool
) -> None:
    saver, account = InMemorySaver(), Account()

    async def send(given: Any) -> Any:
        made = agent(saver, None, account)
        if use_async:
            return await made.ainvoke(given, CONFIG)
        return await asyncio.to_thread(made.invoke, given, CONFIG)

    made = agent(saver, None, account)
    await asyncio.to_thread(turn, made, "first", "const total = 5", PAYING, "total + 1")
    (asked,) = made.get_state(CONFIG).interrupts
    looks, before = list(account.looks), len(made.get_state(CONFIG).values["messages"])
    rewrite(saver, **changes)
    given = Command(resume={asked.id: approve().resume}) if by_id else approve()
    for again in (given, None, given):
        with pytest.raises(UnreadableJournal, match=found) as caught:
            await send(again)
        assert "reads the form 2" in str(caught.value)
    state = made.get_state(CONFIG)
    assert len(state.values["messages"]) == before, "the model was told nothing"
    assert (account.looks, account.paid) == (looks, [])
    # The release that wrote it goes on: the decision is there, or can be made again.
    rewrite(saver, version=2)
    result = await send(given if by_id else None)
    assert account.paid == [5]
    assert account.looks == looks
    assert answers(result)[-2:] == [
        '<result>["seen 1", ["seen 2", "seen 3"], "paid 5"]</result>',
        "<result>6</result>",
    ]
