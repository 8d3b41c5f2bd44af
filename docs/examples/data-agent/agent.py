"""An agent that answers from a database and files, draws a chart, and asks before it acts.

`python agent.py` uses a scripted model, without a network; `python agent.py PROVIDER:NAME` a real
one.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from make_data import make_data
from scripted_model import ScriptedModel

from interpstack import hookimpl
from interpstack_files.api import Files
from interpstack_langchain import CodeInterpreterMiddleware

FOLDER = Path("shop")
QUESTION = (
    "Compare the shop's revenue of 2025, net of refunds, with the targets of each month: orders "
    "are in the database, refunds and targets in CSV files. Draw a chart. If orders were refunded "
    "twice, reclaim the later refunds."
)
_READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)


def only_reads(action: int, *_: Any) -> int:
    return sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY


@tool
def query(sql: str) -> list[dict[str, Any]]:
    """Run one SELECT on the shop's SQLite database; its tables are in sqlite_master."""
    database = sqlite3.connect(FOLDER / "shop.db")
    database.row_factory = sqlite3.Row
    database.set_authorizer(only_reads)
    try:
        return [dict(row) for row in database.execute(sql)]
    finally:
        database.close()


@tool
def reclaim(refunds: list[str], reason: str) -> str:
    """Claim refunds back from the payment provider."""
    with sqlite3.connect(FOLDER / "shop.db") as database:
        rows = [(refund, reason) for refund in refunds]
        # A call that is made again after a crash claims nothing twice.
        database.executemany("INSERT OR IGNORE INTO reclaims VALUES (?, ?)", rows)
    return f"{len(refunds)} refunds are reclaimed"


class ReadByCode:
    """A plugin that counts the calls of code, and the characters of their answers."""

    name = "read-by-code"
    calls = chars = 0

    @hookimpl
    def interpstack_wrap_request(self, session: Any, request: Any) -> Any:
        async def counted(make: Any) -> Any:
            settlement = await make()
            self.calls += 1
            self.chars += len(settlement.text)
            return settlement

        return counted


class ReadByModel(BaseCallbackHandler):
    """Counts the turns of the model, and the characters of the messages that it reads."""

    turns = chars = 0

    def on_chat_model_start(self, serialized: Any, messages: list[Any], **kwargs: Any) -> None:
        self.turns += 1
        code = [str(getattr(message, "tool_calls", "")) for message in messages[0]]
        self.chars += sum(len(message.text) for message in messages[0]) + len("".join(code))


def decided(interrupt: Any) -> Command:
    """Show the calls that wait, and ask for a decision on each."""
    decisions = []
    for request in interrupt.value["action_requests"]:
        print(f"\nThe agent wants to call {request['name']}: {json.dumps(request['args'])}")
        approved = input("Approve? [y/n] ").strip() == "y"
        decisions.append({"type": "approve" if approved else "reject"})
    return Command(resume={interrupt.id: {"decisions": decisions}})


def main() -> None:
    make_data(FOLDER)
    model = init_chat_model(sys.argv[1]) if sys.argv[1:] else ScriptedModel()
    by_code, by_model = ReadByCode(), ReadByModel()
    agent = create_agent(
        model,
        middleware=[
            CodeInterpreterMiddleware(
                ptc=[query, reclaim],
                files=Files(FOLDER),
                interrupt_on={"reclaim": {"allowed_decisions": ["approve", "reject"]}},
                plugins=[by_code],
            )
        ],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}, "callbacks": [by_model]}
    state = agent.invoke({"messages": [("user", QUESTION)]}, config)
    while "__interrupt__" in state:
        state = agent.invoke(decided(state["__interrupt__"][0]), config)

    for message in state["messages"]:
        for block in message.content_blocks if message.type == "tool" else []:
            if block["type"] == "image":
                chart = FOLDER / block["extras"]["filename"]
                chart.write_bytes(base64.b64decode(block["base64"]))
                print(f"\nChart: {chart}")
    print(f"\n{state['messages'][-1].text}\n")
    print(f"The model took {by_model.turns} turns and read {by_model.chars:,} characters.")
    print(f"Its code made {by_code.calls} calls and read {by_code.chars:,} characters.")


if __name__ == "__main__":
    main()
