"""An eval that waits is refused where its variables cannot be restored, and nothing is consumed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from scripted import answers
from stored_forms import Account, agent, turn

from interpstack_agents import RecordRejected

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "first"}}
OLD, NEW = "the key that it was signed with", "another key of sixteen bytes"
PAYING = "const seen = await tools.look({n: 1}); await tools.pay({amount: total + seen.length})"


def approve() -> Command[Any]:
    return Command(resume={"decisions": [{"type": "approve"}]})


@pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("by_id", [True, False], ids=["by id", "plain"])
@pytest.mark.parametrize("suspends", [True, False], ids=["suspended", "replayed"])
async def test_another_signing_key_leaves_the_pause_and_the_approval(
    suspends: bool, by_id: bool, use_async: bool
) -> None:
    saver, store, account = InMemorySaver(), InMemoryStore(), Account()

    def made(key: str) -> Any:
        return agent(saver, store, account, uses_store=suspends, snapshot_signing_key=key)

    async def send(given: Any, key: str) -> Any:
        if use_async:
            return await made(key).ainvoke(given, CONFIG)
        return await asyncio.to_thread(made(key).invoke, given, CONFIG)

    await asyncio.to_thread(turn, made(OLD), "first", "const total = 5", [PAYING, "total + 1"])
    before = made(OLD).get_state(CONFIG)
    (asked,) = before.interrupts
    given = Command(resume={asked.id: approve().resume}) if by_id else approve()
    for again in (given, None, given):
        with pytest.raises(RecordRejected, match="signed with another key") as caught:
            await send(again, NEW)
        assert "snapshot_signing_key" in str(caught.value)
    state = made(OLD).get_state(CONFIG)
    assert state.values["messages"] == before.values["messages"], "the model received nothing"
    assert (account.looks, account.paid) == ([1], [])
    result = await send(given if by_id else None, OLD)
    assert (account.looks, account.paid) == ([1], [11])
    assert answers(result)[-2:] == ["<result>paid 11</result>", "<result>6</result>"]


def test_an_eval_that_began_without_variables_goes_on_without_them() -> None:
    saver, account = InMemorySaver(), Account()
    turn(agent(saver, None, account, snapshot_signing_key=OLD), "first", "const total = 5")
    made = agent(saver, None, account, snapshot_signing_key=NEW)
    state = turn(made, "first", "await tools.pay({amount: 7}); typeof total")
    assert "__interrupt__" in state
    again = agent(saver, None, account, snapshot_signing_key=NEW).invoke(approve(), CONFIG)
    assert account.paid == [7]
    assert "undefined" in answers(again)[-1]


def test_a_new_turn_gives_up_an_eval_that_cannot_go_on() -> None:
    saver, account = InMemorySaver(), Account()
    turn(agent(saver, None, account, snapshot_signing_key=OLD), "first", "const total = 5", PAYING)
    made = agent(saver, None, account, snapshot_signing_key=NEW)
    with pytest.raises(RecordRejected):
        made.invoke(approve(), CONFIG)
    given = {"messages": [("user", json.dumps(["1 + 1"]))]}
    state = made.invoke(given, CONFIG)
    assert account.paid == []
    assert "2" in answers(state)[-1]
