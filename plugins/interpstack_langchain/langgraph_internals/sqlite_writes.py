"""Writes of tasks in the table of LangGraph's checkpointer for SQLite, each batch one statement.

`SqliteSaver.put_writes` begins and commits a transaction of its own, which takes about as long as
the write. Outside of transactions, SQLite commits a statement itself when it ends.

The test module `test_sqlite_writes` shows what breaks if LangGraph changes the table.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from typing import Any, Final

from langgraph.checkpoint.serde.base import SerializerProtocol

__all__ = ["SqliteWrites"]

#: The columns of the table.
_COLUMNS: Final = (
    *("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "task_path", "idx"),
    *("channel", "type", "value"),
)
_INSERT: Final = f"INSERT OR IGNORE INTO writes ({', '.join(_COLUMNS)}) VALUES "  # noqa: S608
_ROW: Final = f"({', '.join('?' * len(_COLUMNS))})"
#: Rows of one statement; SQLite keeps few statements ready.
_MAX_ROWS: Final = 8
#: The statements by their number of rows.
_STATEMENTS: Final = tuple(_INSERT + ", ".join((_ROW,) * rows) for rows in range(_MAX_ROWS + 1))


class SqliteWrites:
    """Adds writes of tasks to a database; of two with the same place, the first one stays.

    Args:
        connection: Makes no transactions of its own: its `isolation_level` is `None`.
        serde: The serializer of the checkpointer.
    """

    def __init__(self, connection: sqlite3.Connection, serde: SerializerProtocol) -> None:
        self._connection = connection
        self._serde = serde
        self._lock = threading.Lock()

    @classmethod
    def of(cls, connection: sqlite3.Connection, serde: SerializerProtocol) -> SqliteWrites | None:
        """The writes of a database; `None` if its table is none that this release knows."""
        columns = [row[1] for row in connection.execute("PRAGMA table_info(writes)")]
        return cls(connection, serde) if sorted(columns) == sorted(_COLUMNS) else None

    def add(
        self, place: tuple[str, str, str], task: str, writes: Sequence[tuple[str, Any]]
    ) -> bool:
        """Store writes of a task, all of them or none.

        Args:
            place: Thread, namespace and id of the checkpoint.
            task: The id of the task.
            writes: Channels and values; no channel whose writes replace each other.

        Returns:
            False if these are too many for one statement; nothing is stored then.

        Raises:
            sqlite3.OperationalError: The database is locked, or cannot be written.
        """
        if len(writes) > _MAX_ROWS:
            return False
        values: list[Any] = []
        for index, (channel, value) in enumerate(writes):
            values += (*place, task, "", index, channel, *self._serde.dumps_typed(value))
        with self._lock:
            self._connection.execute(_STATEMENTS[len(writes)], values)
        return True
