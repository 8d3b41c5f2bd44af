"""Every text of every stored form survives its store, halves of surrogate pairs included.

LangGraph's serializer writes UTF-8 and replaces a half by `?`. A run that is repeated from such a
record receives another answer than it had, and diverges.
"""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from graph_tasks import stored_checkpoint, task_config
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command
from scripted import Script, answers

from interpstack import GuestError, Image, Request, SessionState, Settlement, Step
from interpstack_durable.api import Suspension, read_cell
from interpstack_durable.entries import step_entry, undelivered_entry
from interpstack_durable.suspensions import read_suspension, suspension_text
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.background.terminations import Termination, Terminations
from interpstack_langchain.durability.checkpoint_writes import (
    JOURNAL_CHANNEL,
    CheckpointWrites,
    recorded_entries,
    recorded_spending,
    sound_entries,
    task_of,
)
from interpstack_langchain.langgraph_internals.call_scopes import Checkpoint
from interpstack_persistence.payloads import pack_payload, unpack_payload
from interpstack_state import MemoryStore
from interpstack_testing.conformance.texts import texts
from interpstack_workflows.api import Entry, Message, StepRecord, WorkflowRecord, WorkflowStore

TEXTS = texts(6) | st.just("\ud800") | st.just("\ufdd0text:")
FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def writes_of(saver: InMemorySaver) -> CheckpointWrites:
    config = task_config(saver=saver, checkpoint=stored_checkpoint(saver), resuming=True)
    found = Checkpoint.of(config)
    assert found is not None
    return CheckpointWrites(found, is_async=False)


async def stored(task: str, value: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """The writes of a checkpoint after one of them was stored, by LangGraph's own serializer."""
    writes = writes_of(InMemorySaver())
    await writes.put([(JOURNAL_CHANNEL, value)], task)
    return await writes.read()


@FEW
@given(TEXTS, TEXTS, TEXTS)
async def test_texts_of_answers_and_of_requests_survive_in_a_journal(
    one: str, two: str, three: str
) -> None:
    error = GuestError(one, two, stack=three, data={one: [two]})
    failed = Settlement(1, error=error, modules={two: three})
    step = Step(1.0, (failed, Settlement(2, json.dumps(one))))
    request = Request(3, f"tools.{three}", [one])
    entry = {"version": 2, **step_entry([request], step), "began": 1.0}
    found = recorded_entries("key", await stored(task_of("key", 0), entry))
    assert found == sound_entries("key", await stored(task_of("key", 0), entry))
    (read,) = read_cell(found).entries
    assert [attrs.asdict(answer) for answer in read.settlements] == [
        attrs.asdict(answer) for answer in step.settlements
    ]
    assert read.asked[0].bridge == request.bridge
    kept = await stored(task_of("key", 0), undelivered_entry([request], step))
    assert recorded_entries("key", kept) == [undelivered_entry([request], step)]


@FEW
@given(
    st.recursive(
        TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    )
)
async def test_every_text_of_a_note_survives_in_a_journal(note: Any) -> None:
    """Pauses, questions, decisions of people and answers to tools are notes."""
    found = recorded_entries("key", await stored(task_of("key", 0), {"notes": {"n": note}}))
    assert found == [{"notes": {"n": note}}]


@FEW
@given(TEXTS, TEXTS)
async def test_texts_of_drawn_amounts_survive(one: str, two: str) -> None:
    spent = {"run": one, "number": 1, "by": {two: 2}}
    writes = await stored(task_of("key", "1"), {"spent": spent, "of": "key"})
    assert recorded_spending("key", writes) == [spent]


@FEW
@given(TEXTS, TEXTS)
async def test_texts_of_decisions_on_cells_in_the_background_survive(one: str, two: str) -> None:
    termination, made = Termination(one, two, one), Terminations()
    assert Terminations().of("key", await stored(*made.decide("key", termination))) == termination


def through_utf_8(text: str) -> str:
    """A text as a store of texts returns it."""
    serde = JsonPlusSerializer()
    found = serde.loads_typed(serde.dumps_typed(text))
    assert found.encode("utf-8").decode() == text
    return str(found)


@FEW
@given(TEXTS, TEXTS)
def test_texts_of_a_suspended_run_survive(one: str, two: str) -> None:
    suspension = Suspension(
        image=Image(one, two, b"\0"),
        steps=1,
        asked=(Request(1, two, [one]),),
        open=(),
        made={one: 1},
        console=((two, 0),),
    )
    assert read_suspension(through_utf_8(suspension_text(suspension))) is not None
    found = read_suspension(through_utf_8(suspension_text(suspension)))
    assert found is not None
    assert attrs.asdict(found) == attrs.asdict(suspension)


@FEW
@given(TEXTS, TEXTS)
def test_texts_of_a_session_survive(one: str, two: str) -> None:
    state = SessionState(image=Image(one, two, b"\0"), values={one: [two]})
    payload, _ = pack_payload(state, None)
    assert attrs.asdict(unpack_payload(payload)) == attrs.asdict(state)


@FEW
@given(TEXTS, TEXTS)
async def test_texts_of_a_workflow_survive(one: str, two: str) -> None:
    """Its record, its steps and the messages to it."""
    store = WorkflowStore(MemoryStore())
    error = {"name": one, "message": two}
    run = WorkflowRecord(id="r", name=one, source=two, args={one: [two]}, result=two, error=error)
    await store.create(run)
    assert await store.read("r") == run
    lease = (await store.take("r", "o", 60)).lease
    assert lease is not None
    step = StepRecord(name=one, signature=json.dumps({one: two}), ok=False, error=error)
    entry = Entry(scope=two, now=1.0, settled=(step,))
    await store.append("r", 0, [entry], lease)
    assert list(await store.entries("r")) == [entry]
    await store.send("r", Message(kind="signal", name=one, value={two: one}, id=two))
    assert [sent for _, sent in await store.messages("r", 0)] == [
        Message(kind="signal", name=one, value={two: one}, id=two)
    ]


CODE = r"""
let failure = ""
try { await tools.look({}) } catch (error) { failure = error.message }
let refusal = ""
try { await tools.pay({to: failure}) } catch (error) { refusal = error.message }
const paid = await tools.pay({to: refusal}); [failure, refusal, paid].map(t => escape(t)).join()
"""


@pytest.mark.parametrize("half", ["\ud800", "x\udc00y", "\ufdd0text:"])
def test_a_payment_is_made_after_an_error_and_a_rejection_with_half_of_a_pair(half: str) -> None:
    """Code pays what the texts of a tool and of a reviewer say; every run reads them anew."""
    paid: list[str] = []
    saver = InMemorySaver()

    def look() -> str:
        """Look."""
        raise ValueError(half)

    def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return "paid"

    def run(given: Any) -> Any:
        tools = [StructuredTool.from_function(one) for one in (look, pay)]
        interpreter = CodeInterpreterMiddleware(ptc=tools, interrupt_on={"pay": True})
        agent = create_agent(Script(), middleware=[interpreter], checkpointer=saver)
        found = agent.invoke(given, {"configurable": {"thread_id": "t"}})
        interpreter.stack.close()
        return found

    def resume(state: Any, **decision: Any) -> Any:
        (asked,) = state["__interrupt__"]
        return run(Command(resume={asked.id: {"decisions": [decision]}}))

    first = run({"messages": [("user", json.dumps([CODE]))]})
    second = resume(first, type="reject", message=half)
    done = resume(second, type="approve")
    assert len(paid) == 1
    assert half in paid[0]
    assert "ReplayDivergence" not in answers(done)[0]


@pytest.mark.parametrize("custom", [False, True], ids=["described by LangChain", "by a function"])
@pytest.mark.parametrize("edited", [False, True])
def test_an_approval_of_half_of_a_pair_is_stored_as_it_was_shown(
    edited: bool, custom: bool
) -> None:
    """The question of `invoke` and the stored one are the same, and the tool gets the original."""
    paid: list[str] = []
    saver = InMemorySaver()

    def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return "paid"

    def describe(call: Any, state: Any, runtime: Any) -> str:
        return f"Pay {call['args']['to']}"

    rule: Any = {"allowed_decisions": ["approve", "edit"], "description": describe}

    def run(given: Any) -> tuple[Any, Any]:
        interpreter = CodeInterpreterMiddleware(
            ptc=[StructuredTool.from_function(pay)], interrupt_on={"pay": rule if custom else True}
        )
        agent = create_agent(Script(), middleware=[interpreter], checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "t"}}
        found = agent.invoke(given, config)
        interpreter.stack.close()
        return found, agent.get_state(config).interrupts

    code = r"await Promise.all([tools.pay({to: 'x\ud83d'}), tools.pay({to: 'x\\ud83d'})]); 1"
    state, stored = run({"messages": [("user", json.dumps([code]))]})
    (asked,), (kept,) = state["__interrupt__"], stored
    assert asked.value == kept.value
    actions = kept.value["action_requests"]
    args = [one["args"] for one in actions]
    assert args == [{"to": {"$escaped": r"x\ud83d"}}, {"to": r"x\ud83d"}]
    assert r"x\ud83d" in actions[0]["description"]
    decisions: list[Any] = [{"type": "approve"}] * 2
    if edited:
        decisions = [{"type": "edit", "edited_action": one} for one in actions]
    run(Command(resume={asked.id: {"decisions": decisions}}))
    assert sorted(paid) == sorted(["x\ud83d", r"x\ud83d"])
