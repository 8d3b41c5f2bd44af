"""The agents and states whose stored forms are checked in; run as a script, it stores them.

`python tests/support/stored_forms.py DIRECTORY` writes the forms of the code as it stands. A
directory that is checked in is never written again: it shows what earlier code left behind.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore
from scripted import Script

from interpstack import InterpreterStack
from interpstack_accounts.api import Budget
from interpstack_langchain import CodeInterpreterMiddleware

SIGNING_KEY: Final = "a key of this test"
_JAVASCRIPT: Final = "const total = 41; let names = ['a', 'b']; const seen = new Map([['k', 7n]])"
#: Code that defines what a later turn reads, by engine.
DEFINE: Final = {
    "quickjs": _JAVASCRIPT,
    "monty": "total = 41\nnames = ['a', 'b']\ndef add(n): return total + n",
    "v8": _JAVASCRIPT,
    "process:quickjs": _JAVASCRIPT,
}
#: Two looks at once behind a first one, then a payment that waits for its approval.
PAYING: Final = """
const first = await tools.look({n: 1});
const rest = await Promise.all([tools.look({n: 2}), tools.look({n: 3})]);
const receipt = await tools.pay({amount: total});
[first, rest, receipt]
"""
#: Threads whose eval waits for an approval, and what their agent is made with.
PAUSED: Final = {
    "paused": {},
    "paused-in-the-middle": {"uses_store": True},
    "paused-with-budget": {"budget": Budget(requests=9)},
}


@contextmanager
def opened(directory: Path) -> Iterator[tuple[SqliteSaver, SqliteStore]]:
    """The checkpointer and the store of a directory."""
    with (
        SqliteSaver.from_conn_string(str(directory / "checkpoints.sqlite")) as saver,
        SqliteStore.from_conn_string(str(directory / "store.sqlite")) as store,
    ):
        store.setup()
        yield saver, store


class Account:
    """Counts what its tools did."""

    def __init__(self) -> None:
        self.looks: list[int] = []
        self.paid: list[int] = []

    def tools(self) -> list[Any]:
        @tool
        def look(n: int) -> str:
            """Look at something."""
            self.looks.append(n)
            return f"seen {n}"

        @tool
        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return f"paid {amount}"

        return [look, pay]


def agent(
    saver: Any, store: Any, account: Account, *, uses_store: bool = False, **options: Any
) -> Any:
    """The agent that a thread was stored by."""
    interpreter = CodeInterpreterMiddleware(
        ptc=["look", "pay"], interrupt_on={"pay": True}, timeout=20.0, **options
    )
    return create_agent(
        Script(),
        account.tools(),
        middleware=[interpreter],
        checkpointer=saver,
        store=store if uses_store else None,
    )


def turn(made: Any, thread: str, *steps: str) -> Any:
    """One turn of a conversation."""
    given = {"messages": [("user", json.dumps(steps))]}
    return made.invoke(given, {"configurable": {"thread_id": thread}})


def _write_agents(directory: Path) -> None:
    with opened(directory) as (saver, store):
        account = Account()
        for thread, options in (("plain", {}), ("signed", {"snapshot_signing_key": SIGNING_KEY})):
            made = agent(saver, store, account, **options)
            turn(made, thread, DEFINE["quickjs"], "names.push('c')")
            turn(made, thread, "names.push('d')")
        for thread, options in PAUSED.items():
            made = agent(saver, store, account, **options)
            turn(made, thread, "const total = 5")
            turn(made, thread, PAYING)
        assert account.paid == []
        saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        saver.conn.execute("PRAGMA journal_mode=DELETE")
        store.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.conn.execute("PRAGMA journal_mode=DELETE")


async def _write_states(directory: Path) -> None:
    states = {}
    for engine, source in DEFINE.items():
        stack = InterpreterStack(engine)
        async with stack.session("stored") as session:
            outcome, state = await session.eval_with_state(source)
        assert outcome.error is None
        assert state is not None
        image = state.image
        states[engine] = {
            "image": image and [image.engine, image.base, base64.b64encode(image.data).decode()],
            "values": None if state.values is None else dict(state.values),
        }
    (directory / "states.json").write_text(json.dumps(states, indent=1) + "\n")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True)
    _write_agents(target)
    asyncio.run(_write_states(target))
