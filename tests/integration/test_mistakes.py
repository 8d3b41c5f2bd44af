"""Each mistake of `tests/support/mistakes.py` is answered so that a reader knows the next step."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest
from engines import OnEngine
from langchain.agents import create_agent
from langchain_core.tools import tool
from mistakes import MISTAKES
from scripted import Script, answers

from interpstack_langchain import CodeInterpreterMiddleware

pytestmark = pytest.mark.engines("javascript")


@tool
def search(q: str, limit: int = 10) -> list[dict[str, Any]]:
    """Search the web."""
    return [{"title": f"On {q}", "score": 1.0}, {"title": "Else", "score": 0.5}]


@tool
def sql_query(sql: str) -> list[dict[str, Any]]:
    """Query the database."""
    return [{"id": i, "name": f"name {i}"} for i in range(3000)]


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return "first line\nsecond line"


@tool
def get_user(id: int) -> dict[str, Any]:  # noqa: A002 - as tools have it
    """Get a user."""
    return {"id": id, "name": "Ann", "address": {"city": "Bonn"}}


@tool
def save(text: str) -> None:
    """Save a text."""
    raise OSError("disk quota exceeded")


TOOLS = [search, sql_query, read_file, get_user, save]


async def test_every_mistake_is_answered(on_engine: OnEngine) -> None:
    interpreter = CodeInterpreterMiddleware(
        engine=on_engine.name, ptc=[one.name for one in TOOLS], mode="call", timeout=1
    )
    agent: Any = create_agent(Script(), TOOLS, middleware=[interpreter])
    wrong = []
    for mistake in MISTAKES:
        state = await agent.ainvoke({"messages": [("user", json.dumps([mistake.code]))]})
        answer = unescape(answers(state)[0])
        missing = [
            told for told in mistake.tells if not any(one in answer for one in told.split(" | "))
        ]
        if missing:
            wrong.append((mistake.kind, mistake.code, missing, answer[:400]))
    assert wrong == []
    assert len(MISTAKES) >= 160
