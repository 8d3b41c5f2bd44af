"""Conversations in every form that they are stored in; run as a script, it stores them.

`python tests/support/stored_threads.py DIRECTORY` writes the forms of the code as it stands. A
directory that is checked in is never written again: it shows what earlier code left behind.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command, interrupt
from scripted import Script, Step
from stored_forms import Account, opened

from interpstack_langchain import CodeInterpreterMiddleware

try:
    from interpstack_accounts.api import Budget
except ImportError:  # the code that wrote the first of these forms had budgets in the kernel
    from interpstack import Budget  # type: ignore[attr-defined, no-redef]

SIGNING_KEY: Final = "a key of this test"
_PAY = "await tools.pay({amount: 5})"
_VALUES = """
const got = await tools.show({})
let said
try { await tools.fail({}) } catch (e) { said = [e.name, e.message, e.tool].join() }
const receipt = await tools.pay({amount: 5});
const when = new Date(got.when).getTime();
[got.bytes.length, got.big, when, got.nested.map(x => x.n), got.nothing, said, receipt]
"""
_VALUES_SHOWN = (
    '[3, 12345678901234567890n, 86400000, [1, 2], null, "ToolError,broken,tools.fail", "paid 5"]'
)
_PYTHON_PAYS = """
import asyncio
first = await tools.look(n=1)
rest = await asyncio.gather(tools.look(n=2), tools.look(n=3))
receipt = await tools.pay(amount=total)
[first, rest, receipt]
"""
_REFUSED = """
await tools.look({n: 1})
let refused
try { await tools.look({n: 2}) } catch (e) { refused = [e.name, e.budget].join() }
const receipt = await tools.pay({amount: 5});
[refused, receipt]
"""


@attrs.frozen(kw_only=True)
class Thread:
    """A conversation that is stored.

    Attributes:
        steps: Code of its turns, each a list of evals; the last may be left at a pause.
        shown: What the paused eval prints once it is decided on; of a conversation that waits for
            nothing, what `reads` prints.
        reads: Code of one more turn, for a conversation that waits for nothing.
        before: Answers given before the last pause.
        answer: What to resume with.
        options: Of the middleware.
        uses_store: Whether the graph has a store, which keeps runs in the middle.
        paid: Payments that are made on resume.
    """

    steps: list[list[Step]]
    shown: str
    reads: str = ""
    before: list[Any] = attrs.field(factory=list)
    answer: Any = attrs.field(factory=lambda: {"decisions": [{"type": "approve"}]})
    options: Mapping[str, Any] = attrs.field(factory=dict)
    uses_store: bool = False
    paid: list[int] = attrs.field(factory=lambda: [5])


_APPROVE: Final = {"decisions": [{"type": "approve"}]}
_LONG: Final = [[f"var n = {turn}; var all = []"] + ["all.push(n++); n"] * 6 for turn in range(4)]

THREADS: Final[Mapping[str, Thread]] = {
    "turn": Thread(
        options={"mode": "turn"},
        steps=[["const total = 5", f"[total, {_PAY}]"]],
        shown='[5, "paid 5"]',
    ),
    "call": Thread(
        options={"mode": "call"},
        steps=[[f"await tools.look({{n: 1}}); {_PAY}"]],
        shown="paid 5",
    ),
    "monty": Thread(
        options={"engine": "monty"},
        steps=[["total = 41\nnames = ['a', 'b']", "names.append('c')"], ["total = total + 1"]],
        reads="f'{total} {names}'",
        shown="42 ['a', 'b', 'c']",
    ),
    "monty-in-the-middle": Thread(
        options={"engine": "monty"},
        uses_store=True,
        steps=[["total = 5"], [_PYTHON_PAYS]],
        shown="['seen 1', ['seen 2', 'seen 3'], 'paid 5']",
    ),
    "v8": Thread(
        options={"engine": "v8"},
        steps=[["const total = 5"], [f"await tools.look({{n: 1}}); [total, {_PAY}]"]],
        shown='[5, "paid 5"]',
    ),
    "process-in-the-middle": Thread(
        options={"engine": "process:quickjs"},
        uses_store=True,
        steps=[["const total = 5"], [f"await tools.look({{n: 1}}); [total, {_PAY}]"]],
        shown='[5, "paid 5"]',
    ),
    "signed-in-the-middle": Thread(
        options={"snapshot_signing_key": SIGNING_KEY},
        uses_store=True,
        steps=[["const total = 5"], [f"await tools.look({{n: 1}}); [total, {_PAY}]"]],
        shown='[5, "paid 5"]',
    ),
    "values-only": Thread(
        options={"max_snapshot_bytes": 3000},
        steps=[["const total = 41; var f = () => 1", "let seen = new Map([['k', 7n]])"]],
        reads="[total, seen.get('k')]",
        shown="[41, 7n]",
    ),
    "long": Thread(steps=_LONG, reads="[n, all.length, all[0]].join()", shown="9,6,3"),
    "renamed": Thread(
        options={"tool_name": "js"},
        steps=[["const total = 5"], [f"[total, {_PAY}]"]],
        shown='[5, "paid 5"]',
    ),
    "values-of-tools": Thread(steps=[[_VALUES]], shown=_VALUES_SHOWN),
    "twice": Thread(
        steps=[["await tools.pay({amount: 4}); " + _PAY]], before=[_APPROVE], shown="paid 5"
    ),
    "updates": Thread(steps=[[f"await tools.note({{text: 'a'}}); {_PAY}"]], shown="paid 5"),
    "refused": Thread(
        options={"budget": Budget(tool_requests={"look": 1})},
        steps=[[_REFUSED]],
        shown='["BudgetExceeded,tool_requests:look", "paid 5"]',
    ),
    "asks": Thread(
        steps=[["await tools.look({n: 1}); await tools.ask({})"]],
        answer="yes",
        shown="told yes",
        paid=[],
    ),
    "several": Thread(
        steps=[[["var a = 1; " + _PAY, "a + 1"]]],
        shown="<result>2</result>",
    ),
}


class Effects(Account):
    """Notes what more tools did."""

    def tools(self) -> list[Any]:
        @tool
        def show() -> Any:
            """Show values of many kinds."""
            self.looks.append(0)
            return _shown()

        @tool
        def fail() -> str:
            """Fail."""
            self.looks.append(0)
            raise ValueError("broken")

        @tool
        def note(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
            """Note something in the state."""
            self.looks.append(0)
            return Command(update={"messages": [ToolMessage(text, tool_call_id=tool_call_id)]})

        @tool
        def ask() -> str:
            """Ask somebody."""
            return f"told {interrupt('sure?')}"

        return [*super().tools(), show, fail, note, ask]


def _shown() -> dict[str, Any]:
    from datetime import UTC, datetime

    return {
        "bytes": b"\x00\x01\xff",
        "big": 12345678901234567890,
        "when": datetime(1970, 1, 2, tzinfo=UTC),
        "nested": [{"n": 1}, {"n": 2}],
        "nothing": None,
    }


def agent(thread: Thread, saver: Any, store: Any, effects: Effects) -> Any:
    """The agent of a conversation."""
    tools = effects.tools()
    interpreter = CodeInterpreterMiddleware(
        ptc=[one.name for one in tools],
        interrupt_on={"pay": True},
        timeout=20.0,
        subagents=False,
        **thread.options,
    )
    return create_agent(
        Script(tool=thread.options.get("tool_name", "eval")),
        tools,
        middleware=[interpreter],
        checkpointer=saver,
        store=store if thread.uses_store else None,
    )


def config(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def write(directory: Path) -> None:
    """Store all conversations."""
    directory.mkdir(parents=True)
    with opened(directory) as (saver, store):
        for name, thread in THREADS.items():
            effects = Effects()
            made = agent(thread, saver, store, effects)
            for steps in thread.steps:
                made.invoke({"messages": [("user", json.dumps(steps))]}, config(name))
            for answer in thread.before:
                made.invoke(Command(resume=answer), config(name))
            waits = bool(made.get_state(config(name)).next)
            assert waits == (not thread.reads), name
            assert 5 not in effects.paid
        for connection in (saver.conn, store.conn):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("VACUUM")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
