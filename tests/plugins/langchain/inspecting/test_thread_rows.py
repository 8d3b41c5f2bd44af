"""Lists of threads, from every kind of checkpointer."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import stores
from inspected_agents import agent, config, turn
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from interpstack_inspect.api import ConversationRow
from interpstack_langchain.inspecting.thread_rows import thread_rows, thread_version


async def _filled(saver: Any) -> None:
    made = agent(saver)
    pays = turn("await tools.pay({amount: 1})")
    run = made.ainvoke if isinstance(saver, InMemorySaver) else None
    for name, given in [
        ("ends", turn("1")),
        ("Waits", pays),
        ("goes on", pays),
        ("goes on", Command(resume={"decisions": [{"type": "approve"}]})),
    ]:
        if run is None:
            await asyncio.to_thread(made.invoke, given, config(name))
        else:
            await run(given, config(name))


def _rows(saver: Any, containing: str = "", limit: int = 9, skip: int = 0) -> list[ConversationRow]:
    return thread_rows(saver, containing=containing, limit=limit, skip=skip)


@pytest.mark.parametrize("name", ["memory", "sqlite", "postgres"])
async def test_threads_of_a_checkpointer(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = str(tmp_path / "a.db")
    if name == "postgres":
        place = request.getfixturevalue("postgres").new_database()
    async with stores.open_saver(name, place) as saver:
        await _filled(saver)
        rows = _rows(saver)
        assert [(row.name, row.waits) for row in rows] == [
            ("goes on", False),
            ("Waits", True),
            ("ends", False),
        ]
        assert [
            row.name for row in thread_rows(saver, containing="", waiting=True, limit=9, skip=0)
        ] == ["Waits"]
        assert [row.version for row in rows] == [thread_version(saver, row.name) for row in rows]
        for row in rows:
            changed = datetime.fromisoformat(row.changed)
            assert timedelta(0) <= datetime.now(UTC) - changed < timedelta(minutes=5)
        first = thread_version(saver, "Waits")
        assert first == thread_version(saver, "Waits") != thread_version(saver, "ends")
        resumed = Command(resume={"decisions": [{"type": "approve"}]})
        made = agent(saver)
        if name == "memory":
            await made.ainvoke(resumed, config("Waits"))
        else:
            await asyncio.to_thread(made.invoke, resumed, config("Waits"))
        assert thread_version(saver, "Waits") != first
        assert thread_version(saver, "gone") == thread_version(saver, "gone, too")
        assert [row.name for row in _rows(saver, "wAIT")] == ["Waits"]
        assert _rows(saver, "%") == []
        assert [row.name for row in _rows(saver, limit=1, skip=1)] == ["goes on"]


def test_a_checkpoint_without_a_time_in_its_id(tmp_path: Path) -> None:
    import sqlite3

    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:
        saver.setup()
        for name, checkpoint in [("a", "1"), ("b", "00000000-0000-4000-8000-000000000000")]:
            saver.conn.execute(
                "INSERT INTO checkpoints (thread_id, checkpoint_id) VALUES (?, ?)",
                (name, checkpoint),
            )
        assert [(row.name, row.changed) for row in _rows(saver)] == [("a", ""), ("b", "")]
        assert isinstance(saver.conn, sqlite3.Connection)
