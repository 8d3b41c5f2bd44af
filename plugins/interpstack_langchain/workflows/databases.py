"""Stores of workflows on databases, opened by URL."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from langgraph.checkpoint.serde.base import SerializerProtocol

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals.saver_classes import saver_class
from interpstack_langchain.langgraph_internals.sqlite_writes import SqliteWrites
from interpstack_langchain.workflows.checkpoint_store import CheckpointWorkflowStore
from interpstack_langchain.workflows.opened_stores import (
    OpenedPostgresStore,
    OpenedStore,
    SqliteStore,
)

__all__ = ["open_postgres", "open_sqlite"]

#: Seconds to wait for another process that writes.
_BUSY_SECONDS: Final = 30.0
#: Seconds between two tries to make the tables.
_PAUSE_SECONDS: Final = 0.02
#: The lock of those who make the tables of a PostgreSQL database: a number that no other has.
_SETTING_UP: Final = 7_320_583_017_224


def open_sqlite(
    url: str, *, create: bool = True, serde: SerializerProtocol | None = None
) -> CheckpointWorkflowStore:
    """A store in a database of SQLite.

    Args:
        url: A path, or a URL: with three slashes a relative path, with four an absolute one.
        create: Make the database if there is none.
        serde: The serializer of stored values; `None` for the checkpointer's default.

    Raises:
        ConfigurationError: The database cannot be opened, or a package is missing.
    """
    path = Path(unquote(url.removeprefix("sqlite:///")) if url.startswith("sqlite:") else url)
    if not (create or path.exists()):
        raise ConfigurationError(
            f"database {url} not found. A run creates it: pass the database of an existing run, "
            "or start one"
        )
    saver = saver_class("sqlite", "this store")
    if not path.parent.is_dir():
        raise ConfigurationError(
            f"the store {url!r} cannot be opened: there is no folder {str(path.parent)!r}; make "
            "it, or name another store"
        )
    with ExitStack() as opening:
        try:
            waiting = _opened_file(path, opening)
            made = saver(waiting, serde=serde)
            _set_up(made)
            (mode,) = waiting.execute("PRAGMA journal_mode").fetchone()
            at_once = _opened_file(path, opening, isolation_level=None)
            at_once.execute("PRAGMA busy_timeout=0")
            at_once.execute("PRAGMA wal_autocheckpoint=0")
            writes = SqliteWrites.of(at_once, made.serde)
        except sqlite3.Error as error:
            raise _unopened(url, error) from error
        # Without a log of writes, one connection only sees what another one has written.
        if mode != "wal" or writes is None:
            return OpenedStore(made, opening.pop_all().close)
        return SqliteStore(made, writes, opening.pop_all().close)


def _opened_file(path: Path, opening: ExitStack, **options: Any) -> sqlite3.Connection:
    """A connection, which `opening` closes."""
    connection: sqlite3.Connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, check_same_thread=False, **options
    )
    opening.callback(connection.close)
    # A write survives the process; only a failing machine may lose the last ones.
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _set_up(saver: Any) -> None:
    """Make the tables, while other processes may do so.

    SQLite gives up at once, whatever its timeout, where two connections change the journal of a new
    database together.
    """
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            saver.setup()
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY  # extended codes have more
            if not busy or time.monotonic() > until:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def open_postgres(
    url: str, *, create: bool = True, serde: SerializerProtocol | None = None
) -> CheckpointWorkflowStore:
    """A store in a database of PostgreSQL, whose tables are made if there are none.

    Args:
        url: As PostgreSQL writes it, `postgresql://user@host/database`.
        create: Changes nothing: the database itself has to be there.
        serde: The serializer of stored values; `None` for the checkpointer's default.

    Raises:
        ConfigurationError: The database cannot be opened, or a package is missing.
    """
    saver = saver_class("postgres", "this store")
    import psycopg
    from psycopg.rows import dict_row

    def connect() -> Any:
        return psycopg.connect(url, autocommit=True, prepare_threshold=0, row_factory=dict_row)

    try:
        connection = connect()
    except psycopg.Error as error:
        raise _unopened(url.partition("?")[0].rpartition("@")[2], error) from error
    try:
        made = saver(connection, serde=serde)
        with _setting_up(connection):
            made.setup()
    except (psycopg.Error, TimeoutError) as error:
        connection.close()
        raise _unopened(url.partition("?")[0].rpartition("@")[2], error) from error
    return OpenedPostgresStore(made, connect)


@contextmanager
def _setting_up(connection: Any) -> Iterator[None]:
    """One process at a time makes the tables: two at once would run into each other.

    Asked for again and again, since a statement that waits for the lock would hold up the other
    process: it makes an index beside all statements that go on.

    Raises:
        TimeoutError: Another process has not finished in time.
    """
    until = time.monotonic() + _BUSY_SECONDS
    ask = f"SELECT pg_try_advisory_lock({_SETTING_UP}) AS mine"
    while not connection.execute(ask).fetchone()["mine"]:
        if time.monotonic() > until:
            raise TimeoutError("another process is making its tables")
        time.sleep(_PAUSE_SECONDS)
    try:
        yield
    finally:
        connection.execute(f"SELECT pg_advisory_unlock({_SETTING_UP})")


def _unopened(shown: str, error: Exception) -> ConfigurationError:
    why = str(error).strip().partition("\n")[0]
    return ConfigurationError(f"the store {shown!r} cannot be opened: {why}")
