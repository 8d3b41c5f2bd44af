"""Agents whose conversations are inspected, and databases with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from scripted import Script, Step

from interpstack_inspect.api import RunSource, SourceRequest
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.inspecting.sources import open_source

#: Payments that the agents of this process made.
PAID: list[int] = []
APPROVAL: Final[Mapping[str, Any]] = {"pay": True}


@tool
def look(n: int) -> str:
    """Look at something."""
    return f"seen {n}"


@tool
def pay(amount: int) -> str:
    """Pay somebody."""
    PAID.append(amount)
    return f"paid {amount}"


def agent(saver: Any, **options: Any) -> Any:
    """An agent that runs the code of its input, and needs an approval to pay."""
    interpreter = CodeInterpreterMiddleware(
        ptc=["look", "pay"], interrupt_on=APPROVAL, subagents=False, timeout=20.0, **options
    )
    return create_agent(Script(), [look, pay], middleware=[interpreter], checkpointer=saver)


def config(name: str = "t") -> Any:
    return {"configurable": {"thread_id": name}}


def turn(*steps: Step) -> Any:
    """The input of a turn that runs code."""
    return {"messages": [("user", json.dumps(steps))]}


def database(path: Path, conversations: Mapping[str, Any], **options: Any) -> str:
    """A database with conversations: steps of one turn each, or of several in tuples."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        made = agent(saver, **options)
        for name, turns in conversations.items():
            for steps in turns if isinstance(turns, tuple) else (turns,):
                made.invoke(turn(*steps), config(name))
    return str(path)


def source(place: str, **given: Any) -> RunSource:
    """The source of a database."""
    found = open_source(SourceRequest(target=place, **given))
    assert found is not None
    return found
