"""What the table of LangGraph's checkpointer for SQLite has to be for writes without it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from interpstack_langchain.langgraph_internals.sqlite_writes import SqliteWrites

_PLACE = ("thread", "space", "checkpoint")
_CONFIG: Any = {
    "configurable": dict(zip(("thread_id", "checkpoint_ns", "checkpoint_id"), _PLACE, strict=True))
}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(tmp_path / "db.sqlite", isolation_level=None)
    SqliteSaver(opened).setup()
    yield opened
    opened.close()


def _rows(connection: sqlite3.Connection) -> list[Any]:
    return connection.execute("SELECT * FROM writes ORDER BY task_id, idx").fetchall()


def _made(connection: sqlite3.Connection) -> SqliteWrites:
    made = SqliteWrites.of(connection, SqliteSaver(connection).serde)
    assert made is not None
    return made


def test_rows_are_those_of_the_checkpointer(connection: sqlite3.Connection) -> None:
    writes = [("workflow", "one"), ("workflow", {"two": [2]})]
    assert _made(connection).add(_PLACE, "task", writes)
    mine = _rows(connection)
    connection.execute("DELETE FROM writes")
    SqliteSaver(connection).put_writes(_CONFIG, writes, "task")
    assert mine == _rows(connection)
    assert len(mine) == 2


def test_of_two_writes_with_one_place_the_first_stays(connection: sqlite3.Connection) -> None:
    made = _made(connection)
    assert made.add(_PLACE, "task", [("workflow", "first")])
    before = _rows(connection)
    assert made.add(_PLACE, "task", [("workflow", "second")])
    assert _rows(connection) == before


def test_each_call_is_stored_when_it_returns(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    made = _made(connection)
    other = sqlite3.connect(tmp_path / "db.sqlite")
    for number in range(3):
        assert made.add(_PLACE, f"task-{number}", [("workflow", number)] * 2)
        assert len(_rows(other)) == 2 * number + 2
    other.close()


def test_many_writes_are_left_to_the_checkpointer(connection: sqlite3.Connection) -> None:
    assert not _made(connection).add(_PLACE, "task", [("workflow", 1)] * 9)
    assert _rows(connection) == []


def test_a_locked_database_is_not_waited_for(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    connection.execute("PRAGMA busy_timeout=0")
    other = sqlite3.connect(tmp_path / "db.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        _made(connection).add(_PLACE, "task", [("workflow", 1)])
    other.close()
    assert _rows(connection) == []


@pytest.mark.parametrize(
    "change",
    ["ALTER TABLE writes ADD COLUMN more", "DROP TABLE writes"],
    ids=["another column", "no table"],
)
def test_a_table_of_another_form_is_not_written(
    connection: sqlite3.Connection, change: str
) -> None:
    connection.execute(change)
    assert SqliteWrites.of(connection, SqliteSaver(connection).serde) is None
