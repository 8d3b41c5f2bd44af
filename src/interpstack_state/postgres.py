"""States in PostgreSQL, for any number of machines."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import attrs

from interpstack.checks import expect, positive
from interpstack_state.errors import StoreUnavailable, old_form
from interpstack_state.per_process import PerProcess, first_line, needed
from interpstack_state.sql import OLD_FORMS, TABLES, Execute, SqlStore

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

__all__ = ["PostgresStore"]

_TYPES: Final = {
    "id": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "key": "BIGINT",
    "real": "DOUBLE PRECISION",
    "bytes": "BYTEA",
}
#: Held while the tables are made: two processes that make them at once would disturb each other.
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('interpstack_states'))"
_THERE: Final = "SELECT to_regclass('interpstack_states') IS NOT NULL"
_COLUMNS: Final = """
SELECT attname FROM pg_attribute
WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"""
_NOW: Final = "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"
#: The statements of `SqlStore.append` in one: the server is asked once for each step of a run.
_APPEND: Final = """
WITH s AS (
    UPDATE interpstack_states SET logged = logged + :count
    WHERE space = :space AND key = :key AND token = :token AND logged = :index RETURNING id
), l AS (
    INSERT INTO interpstack_log (state, number, entry)
    SELECT s.id, :index + e.place - 1, e.entry
    FROM s, unnest(CAST(:entries AS TEXT[])) WITH ORDINALITY AS e (entry, place)
)
SELECT id FROM s"""
_TIMEOUT_SECONDS: Final = 10
#: Seconds in which a server is back that is restarted.
_RESTART_SECONDS: Final = 5.0


@attrs.define(eq=False)
class PostgresStore(SqlStore):
    """States in tables of a database, made on first use.

    Args:
        dsn: The connection string.
        space: Keeps states of several kinds apart, as in `sessions`.
        connections: Connections that a process may open at most.
        max_bytes: Bytes of the largest blob.
    """

    dsn: str = attrs.field(repr=False)
    connections: int = attrs.field(
        default=8, kw_only=True, validator=positive(int, optional=False, of="a store of states")
    )
    _pool: PerProcess[Any] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        expect(self.dsn, str, "a PostgresStore takes a connection string")
        self._pool = PerProcess(self._open, lambda pool: pool.close())

    @property
    def threads(self) -> int:
        return self.connections

    def exists(self) -> bool:
        with _failures():
            import psycopg

            with psycopg.connect(self.dsn, connect_timeout=_TIMEOUT_SECONDS) as connection:
                return _is_there(connection)

    def close(self) -> None:
        self._pool.close()

    def _extend(self, values: dict[str, Any], entries: Sequence[str]) -> bool:
        return bool(self._one(_APPEND, {**values, "entries": list(entries)}, again=True))

    @contextmanager
    def _transaction(self) -> Iterator[Execute]:
        pool = self._pool.get()
        with _failures(), pool.connection() as connection, connection.transaction():
            yield lambda statement, values: _fetched(connection, statement, values)

    def _one(self, statement: str, values: Mapping[str, Any], *, again: bool) -> list[Any]:
        pool = self._pool.get()
        import psycopg

        until = time.monotonic() + _RESTART_SECONDS
        while True:
            connection = None
            try:
                with pool.connection() as connection:
                    return _fetched(connection, statement, values)
            except psycopg.OperationalError as error:
                is_lost = connection is not None and connection.broken
                if not (again and is_lost) or time.monotonic() > until:
                    raise _unavailable(error) from error
            except psycopg.Error as error:
                raise _unavailable(error) from error

    def _open(self) -> ConnectionPool[Any]:
        try:
            import psycopg
            from psycopg_pool import ConnectionPool
        except ImportError as error:
            raise needed("a PostgresStore", "postgres", error) from error
        settings: dict[str, Any] = {
            "autocommit": True,
            "connect_timeout": _TIMEOUT_SECONDS,
            "client_encoding": "UTF8",  # text of a database in SQL_ASCII would else come as bytes
        }
        with _failures(), psycopg.connect(self.dsn, **settings) as connection:
            if not _is_there(connection):
                self._make_tables(connection)
        return ConnectionPool(
            self.dsn,
            kwargs=settings,
            min_size=1,
            max_size=self.connections,
            timeout=_TIMEOUT_SECONDS,
            check=ConnectionPool.check_connection,  # a server that was restarted has closed them
            name="interpstack-states",
            open=True,
        )

    def _make_tables(self, connection: Any) -> None:
        for table, columns, query, what in OLD_FORMS:
            found = {name for (name,) in connection.execute(_COLUMNS, [table]).fetchall()}
            if columns <= found and connection.execute(query).fetchall():
                raise old_form("the database", what)
        with connection.transaction():
            connection.execute(_LOCK)
            for statement in TABLES:
                connection.execute(statement.format(**_TYPES))


@contextmanager
def _failures() -> Iterator[None]:
    try:
        import psycopg
    except ImportError as error:
        raise needed("a PostgresStore", "postgres", error) from error
    try:
        yield
    except psycopg.Error as error:
        raise _unavailable(error) from error


def _unavailable(error: Exception) -> StoreUnavailable:
    return StoreUnavailable(f"the states in PostgreSQL cannot be used: {first_line(error)}")


def _is_there(connection: Any) -> bool:
    return bool(connection.execute(_THERE).fetchall()[0][0])


def _fetched(connection: Any, statement: str, values: Mapping[str, Any]) -> list[Any]:
    cursor = connection.execute(_translated(statement), values)
    rows: list[Any] = cursor.fetchall() if cursor.description else []
    return rows


@cache
def _translated(statement: str) -> str:
    """A statement of `sql` with psycopg's placeholders, and the time of the server."""
    return re.sub(
        r":(\w+)", lambda found: _NOW if found[1] == "now" else f"%({found[1]})s", statement
    )
