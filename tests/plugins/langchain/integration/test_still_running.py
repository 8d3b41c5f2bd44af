"""Approvals and questions that wait while other calls of the code run for long."""

from __future__ import annotations

import asyncio
import operator
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from clocks import LeapingClock
from langchain.agents import AgentState
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from stores import open_saver

from interpstack_langchain.durability import databases

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])

CONFIG = {"configurable": {"thread_id": "t"}}
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})
PAYS = """
let tries = 0
const got = await Promise.all([tools.slow({n: 1n}), tools.pay({}), tools.note({text: 'a'})])
tries++
got.join() + tries
"""
ASKS = "(await Promise.all([tools.slow({n: 1}), tools.ask({}), tools.note({text: 'a'})])).join()"


class Noting(AgentState[Any]):
    notes: Annotated[list[str], operator.add]


class Bank:
    """Tools, one of which takes as long as the test says.

    Attributes:
        begun: Ids of calls of `slow`, as often as they were begun.
        go: Lets them end.
        before_asking: Called once, before the next question.
    """

    def __init__(self, use_async: bool) -> None:
        self.begun: list[str] = []
        self.before_asking: list[Callable[[], None]] = []
        self.paid = 0
        self.go = threading.Event()

        def update(text: str, call_id: str) -> Command[Any]:
            answers = [ToolMessage(f"noted {text}", tool_call_id=call_id)]
            return Command(update={"notes": [text], "messages": answers})

        @tool
        def slow(n: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
            """Take long."""
            self.begun.append(tool_call_id)
            assert self.go.wait(60)
            return update("slow", tool_call_id)

        @tool("slow")
        async def slow_on_loop(n: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
            """Take long."""
            self.begun.append(tool_call_id)
            while not self.go.is_set():  # noqa: ASYNC110 - set from anywhere
                await asyncio.sleep(0.01)
            return update("slow", tool_call_id)

        @tool
        def pay() -> str:
            """Pay."""
            self.paid += 1
            return "paid"

        @tool
        def ask() -> str:
            """Ask."""
            while self.before_asking:
                self.before_asking.pop()()
            return str(interrupt("sure?"))

        @tool
        def note(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
            """Note."""
            return update(text, tool_call_id)

        self.tools = [slow_on_loop if use_async else slow, pay, ask, note]
        self.saver = InMemorySaver()

    def options(self, **more: Any) -> dict[str, Any]:
        return {
            "tools": self.tools,
            "ptc": [one.name for one in self.tools],
            "interrupt_on": {"pay": True},
            "checkpointer": self.saver,
            "pause_grace": 0.1,
            "agent_options": {"state_schema": Noting},
            **more,
        }


@pytest.fixture
def bank(use_async: bool) -> Any:
    bank = Bank(use_async)
    yield bank
    bank.go.set()


def last(result: Any) -> str:
    return str(next(m.text for m in reversed(result["messages"]) if m.name == "eval"))


@both
@pytest.mark.parametrize("ends", ["before", "after"])
async def test_an_approval_names_what_still_runs_and_takes_its_answer_later(
    talk: Any, bank: Bank, ends: str, caplog: pytest.LogCaptureFixture
) -> None:
    chat = talk(**bank.options())
    (asked,) = (await chat.turn(PAYS))["__interrupt__"]
    assert [one["name"] for one in asked.value["action_requests"]] == ["pay"]
    assert asked.value["still_running"] == [{"name": "tools.slow", "input": '{"n": 1}'}]
    assert '1 of its calls still run: tools.slow({"n": 1})' in caplog.text
    assert (await chat.send(None))["__interrupt__"] == [asked], "the question stays the same"
    assert (len(bank.begun), bank.paid) == (1, 0)
    if ends == "before":
        bank.go.set()
        await asyncio.sleep(0.2)
    else:
        asyncio.get_running_loop().call_later(0.3, bank.go.set)
    result = await chat.send(APPROVE)
    assert last(result) == "<result>noted slow,paid,noted a1</result>"
    assert sorted(result["notes"]) == ["a", "slow"], "what it returned reaches the state, once"
    assert (len(bank.begun), bank.paid) == (1, 1)


@both
@pytest.mark.parametrize("ends", ["before", "after"])
async def test_another_agent_takes_its_answer(
    talk: Any, bank: Bank, ends: str, use_async: bool, tmp_path: Path
) -> None:
    kind = "sqlite-async" if use_async else "sqlite"
    place = str(tmp_path / "checkpoints.db")
    async with open_saver(kind, place) as first, open_saver(kind, place) as second:
        assert (await talk(**bank.options(checkpointer=first)).turn(PAYS))["__interrupt__"]
        if ends == "before":
            bank.go.set()
            await asyncio.sleep(0.2)
        else:
            asyncio.get_running_loop().call_later(0.3, bank.go.set)
        other = talk(**bank.options(checkpointer=second))
        other.say([])
        result = await other.send(APPROVE)
    assert last(result) == "<result>noted slow,paid,noted a1</result>"
    assert sorted(result["notes"]) == ["a", "slow"]
    assert (len(bank.begun), bank.paid) == (1, 1)


@both
async def test_a_late_result_does_not_revive_a_deleted_thread(
    talk: Any, bank: Bank, use_async: bool, tmp_path: Path
) -> None:
    kind = "sqlite-async" if use_async else "sqlite"
    async with open_saver(kind, str(tmp_path / "checkpoints.db")) as saver:
        chat = talk(**bank.options(checkpointer=saver))
        assert (await chat.turn(PAYS))["__interrupt__"]
        if use_async:
            await saver.adelete_thread("t")
        else:
            saver.delete_thread("t")
        async with databases.open_database(saver) as database:
            assert database.late_recorders
            bank.go.set()
            while database.late_recorders:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

        async def rows(table: str) -> int:
            found = saver.conn.execute(f"SELECT count(*) FROM {table}")
            return int((await (await found).fetchone() if use_async else found.fetchone())[0])

        assert [await rows(table) for table in ("checkpoints", "writes")] == [0, 0]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of files")
@pytest.mark.parametrize("use_async", [True], ids=["async"])
@pytest.mark.parametrize("resumed", ["without a decision", "with an unfit one", "and cancelled"])
async def test_its_answer_is_recorded_although_the_run_in_between_came_to_nothing(
    talk: Any, bank: Bank, resumed: str, tmp_path: Path
) -> None:
    async with open_saver("sqlite-async", str(tmp_path / "checkpoints.db")) as saver:
        chat = talk(**bank.options(checkpointer=saver))
        assert (await chat.turn(PAYS))["__interrupt__"]
        if resumed == "without a decision":
            assert (await chat.send(None))["__interrupt__"]
        elif resumed == "with an unfit one":
            with pytest.raises(ValueError, match="give one decision"):
                await chat.send(Command(resume={"decisions": []}))
        else:
            running = asyncio.ensure_future(chat.send(APPROVE))
            while not bank.paid:  # noqa: ASYNC110 - a tool
                await asyncio.sleep(0.01)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        (database,) = (one for one in databases._known.values() if one.late_recorders)
        bank.go.set()
        while database.late_recorders:  # noqa: ASYNC110 - until it is recorded
            await asyncio.sleep(0.01)
        databases.forget_all()  # as another process, which has never known the call
        other = talk(**bank.options(checkpointer=saver))
        other.say([])
        result = await other.send(APPROVE)
    assert last(result) == "<result>noted slow,paid,noted a1</result>"
    assert (len(bank.begun), bank.paid) == (1, 1)


@both
async def test_it_is_made_again_with_its_id_in_another_process(talk: Any, bank: Bank) -> None:
    assert (await talk(**bank.options()).turn(PAYS))["__interrupt__"]
    bank.go.set()
    databases.forget_all()  # as the other process, which has never known the call
    other = talk(**bank.options())
    other.say([])
    result = await other.send(APPROVE)
    assert last(result) == "<result>noted slow,paid,noted a1</result>"
    assert sorted(result["notes"]) == ["a", "slow"]
    assert (len(bank.begun), len(set(bank.begun)), bank.paid) == (2, 1, 1)


@both
async def test_a_question_of_a_tool_does_not_wait_for_ever_either(
    talk: Any, bank: Bank, caplog: pytest.LogCaptureFixture
) -> None:
    chat = talk(**bank.options())
    (asked,) = (await chat.turn(ASKS))["__interrupt__"]
    assert asked.value == "sure?"
    assert "tools.slow" in caplog.text
    bank.go.set()
    result = await chat.send(Command(resume="yes"))
    assert last(result) == "<result>noted slow,yes,noted a</result>"
    assert len(bank.begun) == 1


@both
async def test_the_wall_limit_does_not_take_a_pause(
    talk: Any, bank: Bank, leaping_clock: LeapingClock
) -> None:
    chat = talk(**bank.options(pause_grace=600, wall_timeout=100))
    bank.before_asking.append(leaping_clock.leap)
    assert (await chat.turn(ASKS))["__interrupt__"]
    bank.go.set()
    assert last(await chat.send(Command(resume="yes"))) == "<result>noted slow,yes,noted a</result>"
    assert len(bank.begun) == 1
