"""What an eval returns that went on after a pause or a crash: all of it, and once."""

from __future__ import annotations

import operator
import time
from typing import Annotated, Any

import pytest
from langchain.agents import AgentState
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

CONFIG = {"configurable": {"thread_id": "t"}}
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})


class Noting(AgentState[Any]):
    notes: Annotated[list[str], operator.add]


@tool
def note(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
    """Note something in the graph's state."""
    answers = [ToolMessage("noted", tool_call_id=tool_call_id), HumanMessage(f"noted {text}")]
    return Command(update={"notes": [text], "messages": answers})


@tool
def later(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
    """Note something, later."""
    time.sleep(0.05)
    return note.func(text, tool_call_id)


@tool
def pay() -> str:
    """Pay."""
    return "paid"


class Dying(InMemorySaver):
    """Fails on demand, after it has stored the entry of that number."""

    dies_after = 0

    def put_writes(self, config: Any, writes: Any, *rest: Any) -> None:
        super().put_writes(config, writes, *rest)
        if self.dies_after and [channel for channel, _ in writes] == ["interpreter_ledger"]:
            self.dies_after -= 1
            if not self.dies_after:
                raise ConnectionError("died")


CODE = """
await tools.note({text: 'a'});
await Promise.all(['b', 'c'].map(text => tools.note({text})));
await tools.pay({});
await tools.note({text: 'd'});
"""


AT_ONCE = """
const [note, later, pay] = [tools.note, tools.later, tools.pay];
await Promise.all([note({text: 'a'}), later({text: 'b'}), pay({}).then(() => note({text: 'c'}))]);
await tools.note({text: 'd'});
"""


@pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("process", ["same", "another"])
@pytest.mark.parametrize("store", [None, InMemoryStore()], ids=["replayed", "suspended"])
@pytest.mark.parametrize(
    ("code", "dies_after"),
    [(CODE, 0), (CODE, 1), (CODE, 2), (AT_ONCE, 0), (AT_ONCE, 1)],
    ids=["pause", "crash after 1", "crash after 2", "at once", "crash in the pause"],
)
async def test_state_updates_of_calls_that_had_ended_are_kept(
    talk: Any, use_async: bool, process: str, store: Any, code: str, dies_after: int
) -> None:
    saver = Dying()
    options = {
        "tools": [note, later, pay],
        "ptc": ["note", "later", "pay"],
        "interrupt_on": {"pay": True},
        "checkpointer": saver,
        "agent_options": {"state_schema": Noting, "store": store},
    }
    chat = talk(**options)
    if dies_after:
        saver.dies_after = dies_after
        with pytest.raises(ConnectionError):
            await chat.turn(code)
    else:
        await chat.turn(code)
    if process == "another":
        chat = talk(**options)
        chat.say([])
    if dies_after:
        await chat.send(None)
    result = await chat.send(APPROVE)
    notes = result["notes"]
    assert sorted(notes) == ["a", "b", "c", "d"]
    assert notes[-1] == "d"
    assert code == AT_ONCE or notes[0] == "a"  # those between ran at once
    texts = [m.text for m in result["messages"] if m.text.startswith("noted")]
    assert texts == [f"noted {text}" for text in notes]


# -- from the middle -----------------------------------------------------------------------

KEPT = ("interpstack", "suspended")
COUNTING = """
const functions = [() => runs];
globalThis.runs = (globalThis.runs ?? 0) + 1;
for (const text of ['a', 'b']) await tools.note({text});
await tools.pay({});
functions[0]()
"""


def starts_counted(chat: Any) -> list[str]:
    """The sources of the cells that the conversation's engine starts from now on."""
    started: list[str] = []
    engine = chat.middleware.stack.engine
    open_realm = engine.open

    def opening(*args: Any) -> Any:
        realm = open_realm(*args)
        start = realm.start

        def starting(cell: Any) -> Any:
            started.append(cell.source)
            return start(cell)

        realm.start = starting
        return realm

    engine.open = opening
    return started


@pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("changed", ["", "text", "mac"])
async def test_with_a_store_a_paused_eval_goes_on_and_its_code_is_not_run_again(
    talk: Any, use_async: bool, changed: str
) -> None:
    store = InMemoryStore()
    options = {
        "tools": [note, pay],
        "ptc": ["note", "pay"],
        "interrupt_on": {"pay": True},
        "checkpointer": InMemorySaver(),
        "agent_options": {"state_schema": Noting, "store": store},
        "snapshot_signing_key": b"k" * 32,
    }
    await talk(**options).turn(COUNTING)
    (kept,) = store.search(KEPT)
    if changed:  # what is not as it was written is not used
        store.put(KEPT, kept.key, {**kept.value, changed: f" {kept.value[changed]}"}, index=False)
    other = talk(**options)
    other.say([])
    started = starts_counted(other)
    result = await other.send(APPROVE)
    assert started == ([COUNTING] if changed else [])
    (text,) = [m.text for m in result["messages"] if isinstance(m, ToolMessage)]
    assert text == "<result>1</result>"
    assert result["notes"] == ["a", "b"]
    assert store.search(KEPT) == [], "it is dropped with the end of the eval"


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("kind", ["store", "background"])
async def test_a_paused_eval_goes_on_with_the_functions_of_earlier_cells(
    talk: Any, use_async: bool, kind: str
) -> None:
    chat = talk(
        tools=[pay],
        ptc=["pay"],
        interrupt_on={"pay": True},
        background=kind == "background",
        agent_options={"store": InMemoryStore() if kind == "store" else None},
    )
    code = "n = double(n); const receipt = await tools.pay({}); n = double(n); [receipt, n].join()"
    await chat.turn("globalThis.double = x => 2 * x; var n = 1", code)
    result = await chat.send(APPROVE)
    texts = [m.text for m in result["messages"] if isinstance(m, ToolMessage)]
    assert texts[1:] == ["<result>paid,4</result>"]


SINCE = ("interpstack", "suspended_since")


@pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
async def test_paused_runs_that_nobody_goes_on_with_are_removed(talk: Any, use_async: bool) -> None:
    store, saver = InMemoryStore(), InMemorySaver()
    options = {
        "tools": [note, pay],
        "ptc": ["note", "pay"],
        "interrupt_on": {"pay": True},
        "checkpointer": saver,
        "agent_options": {"state_schema": Noting, "store": store},
    }
    await talk(**options).turn(COUNTING, thread="t")
    await talk(**options).turn(COUNTING, thread="young")
    assert len(store.search(KEPT)) == len(store.search(SINCE)) == 2
    (first, *_) = sorted(store.search(SINCE), key=lambda item: item.value["at"])
    old = first.value["at"] - 31 * 86400
    store.put(SINCE, first.key, {"at": old}, index=False)
    chat = talk(**options)
    await chat.turn(COUNTING, thread="new")
    kept = {item.key for item in store.search(KEPT)}
    assert kept == {item.key for item in store.search(SINCE)}
    assert (len(kept), first.key in kept) == (2, False)
    # A run that is not kept is run again from its journal.
    started = starts_counted(chat)
    chat.say([])
    result = await chat.send(APPROVE)
    assert started == [COUNTING]
    assert result["notes"] == ["a", "b"]
    # They are not looked for at every pause.
    aged = store.search(SINCE)[0]
    store.put(SINCE, aged.key, {"at": old}, index=False)
    await chat.turn(COUNTING, thread="newer")
    assert aged.key in {item.key for item in store.search(KEPT)}
