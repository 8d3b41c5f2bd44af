"""States in a file of SQLite, for the processes of one machine."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack import ConfigurationError, start_anew_after_fork
from interpstack_state.errors import StoreUnavailable, old_form
from interpstack_state.per_process import PerProcess
from interpstack_state.sql import EXISTS, OLD_FORMS, TABLES, Execute, SqlStore

__all__ = ["SQLiteStore", "until_free"]

_TYPES: Final = {
    "id": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "key": "INTEGER",
    "real": "REAL",
    "bytes": "BLOB",
}
_CATALOGUE: Final = {"tables": "sqlite_master", "name": "name"}
_COLUMNS: Final = "SELECT name FROM pragma_table_info(?)"
#: Seconds to wait for another process's change of the file, and between two tries to open it.
_PATIENCE_SECONDS: Final = 30.0
_PAUSE_SECONDS: Final = 0.02


class _Connection(sqlite3.Connection):
    """A connection that reads texts that are not Unicode: damaged rows must not hide the others."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.text_factory = lambda data: data.decode("utf-8", "surrogateescape")


def until_free(action: Callable[[], None], seconds: float) -> None:
    """Set a database up, while other processes may do so; blocks.

    SQLite gives up at once, whatever its timeout, where two connections change the journal of a new
    database together.

    Args:
        action: Sets it up; repeated while the database is busy.
        seconds: How long to try.

    Raises:
        sqlite3.OperationalError: The database is still busy then, or cannot be used.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            action()
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY  # extended codes have more
            if not busy or time.monotonic() > until:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


@attrs.define(eq=False)
class SQLiteStore(SqlStore):
    """States in a file of SQLite, for the processes of one machine.

    The file is created with access for its owner only. It must not be on a network file system.
    Checkpointers of LangGraph may use the same file.

    Args:
        path: The file.
        space: Keeps states of several kinds apart, as in `sessions`.
        read_only: Reads a file that exists, and refuses changes.
        unchanging: With `read_only`: nobody else has the file open, so it can be read where it
            cannot be locked, such as on a medium that is read-only.
        flushes: Whether a change waits until the disk has it; without, a failing machine may lose
            the last changes, a failing process none.
        max_bytes: Bytes of the largest blob.

    Raises:
        ConfigurationError: It is `unchanging`, but not `read_only`.
    """

    path: Path = attrs.field(converter=Path)
    read_only: bool = attrs.field(default=False, kw_only=True)
    unchanging: bool = attrs.field(default=False, kw_only=True)
    flushes: bool = attrs.field(default=True, kw_only=True)
    _connection: PerProcess[sqlite3.Connection] = attrs.field(init=False)
    _lock: threading.RLock = attrs.field(factory=threading.RLock, init=False)

    def __attrs_post_init__(self) -> None:
        if self.unchanging and not self.read_only:
            raise ConfigurationError(
                "a SQLiteStore that is unchanging does not lock its file, so it must be read_only"
            )
        self._connection = PerProcess(self._connect, sqlite3.Connection.close)
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        """Replace the lock, which the parent's threads may hold; called in the child of a fork."""
        self._lock = threading.RLock()

    @property
    def threads(self) -> int:
        return 1  # they share a connection

    def exists(self) -> bool:
        if not self.path.exists():
            return False
        with self._failures(), closing(self._opened(read_only=True)) as connection:
            return bool(connection.execute(EXISTS.format(**_CATALOGUE)).fetchone()[0])

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[Execute]:
        with self._failures(), self._lock:
            connection = self._connection.get()

            def execute(statement: str, values: Mapping[str, Any]) -> list[Any]:
                with closing(connection.execute(statement, {**values, "now": now})) as cursor:
                    return cursor.fetchall()

            connection.execute("BEGIN IMMEDIATE")
            now = time.time()
            try:
                yield execute
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _one(self, statement: str, values: Mapping[str, Any], *, again: bool) -> list[Any]:
        with self._failures(), self._lock:
            given = {**values, "now": time.time()}
            with closing(self._connection.get().execute(statement, given)) as cursor:
                return cursor.fetchall()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"the states in {self.path} cannot be used: {error}") from error

    def _connect(self) -> sqlite3.Connection:
        if self.read_only:
            return self._opened(read_only=True)
        if not self.path.parent.is_dir():
            raise StoreUnavailable(
                f"the states in {self.path} cannot be used: there is no folder "
                f"{str(self.path.parent)!r}; make it, or name another file"
            )
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = self._opened(read_only=False)
        try:
            until_free(lambda: self._set_up(connection), _PATIENCE_SECONDS)
        except BaseException:
            connection.close()
            raise
        return connection

    def _opened(self, *, read_only: bool) -> sqlite3.Connection:
        mode = "ro" if read_only else "rw"
        still = "&immutable=1" if self.unchanging else ""
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}{still}",
            uri=True,
            timeout=_PATIENCE_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
        )

    def _set_up(self, connection: sqlite3.Connection) -> None:
        """Set the journal and make the tables, if there are none."""
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self.flushes else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys = ON")
        if not connection.execute(EXISTS.format(**_CATALOGUE)).fetchone()[0]:
            self._make_tables(connection)

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        for table, columns, query, what in OLD_FORMS:
            found = {name for (name,) in connection.execute(_COLUMNS, [table])}
            if columns <= found and connection.execute(query).fetchall():
                raise old_form(str(self.path), what)
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in TABLES:
                connection.execute(statement.format(**_TYPES))
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
