"""Sessions in PostgreSQL, for any number of machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from interpstack.checks import expect, positive
from interpstack_stores.contract import (
    SessionStore,
    StoredSession,
    check_claim,
    check_delete,
    check_idle,
    is_key,
)
from interpstack_stores.errors import SessionBusy, SessionTaken, StoreUnavailable, not_bytes
from interpstack_stores.per_process import PerProcess, first_line, needed

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

__all__ = ["PostgresStore"]

#: Held while the table is made: two processes that make it at once would disturb each other.
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('interpstack_sessions'))"
_EXISTS: Final = "SELECT to_regclass('interpstack_sessions') IS NOT NULL"
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS interpstack_sessions (
    key text PRIMARY KEY, token text NOT NULL, until timestamptz NOT NULL,
    used timestamptz NOT NULL, data bytea
)"""
#: Whether a claim holds. One that ends never, or after MAX_CLAIM_SECONDS, is that of a damaged row.
_HOLDS: Final = """coalesce(
    {0}until > clock_timestamp()
    AND {0}until <= clock_timestamp() + make_interval(secs => 1e9), false)"""
_CLAIM: Final = """
INSERT INTO interpstack_sessions AS s (key, token, until, used)
VALUES (%s, %s, clock_timestamp() + make_interval(secs => %s), clock_timestamp())
ON CONFLICT (key) DO UPDATE SET token = excluded.token, until = excluded.until, used = excluded.used
WHERE s.token = excluded.token OR NOT holds(s)
RETURNING octet_length(data), CASE WHEN octet_length(data) <= %s THEN data END""".replace(
    "holds(s)", _HOLDS.format("s.")
)
_WAIT: Final = """
SELECT CASE WHEN isfinite(until) THEN extract(epoch FROM until - clock_timestamp()) ELSE 0 END
FROM interpstack_sessions WHERE key = %s"""
_RENEW: Final = """
UPDATE interpstack_sessions
SET until = clock_timestamp() + make_interval(secs => %s), used = clock_timestamp()
WHERE key = %s AND token = %s RETURNING 1"""
_SAVE: Final = _RENEW.replace("SET ", "SET data = %s, ", 1)
_DELETE: Final = "DELETE FROM interpstack_sessions WHERE key = %s"
_LIST: Final = """
SELECT key, octet_length(data),
    CASE WHEN isfinite(used) THEN extract(epoch FROM clock_timestamp() - used) ELSE 0 END,
    holds()
FROM interpstack_sessions WHERE key > %s ORDER BY key LIMIT 1000""".replace(
    "holds()", _HOLDS.format("")
)
_EXPIRE: Final = """
DELETE FROM interpstack_sessions WHERE NOT holds()
    AND coalesce(used <= clock_timestamp() - make_interval(secs => %s), true)
RETURNING 1""".replace("holds()", _HOLDS.format(""))
_TIMEOUT_SECONDS: Final = 10


@attrs.define(eq=False)
class PostgresStore(SessionStore):
    """Sessions in the table `interpstack_sessions` of a database, made on first use.

    Args:
        dsn: The connection string.
        connections: Connections that a process may open at most.
        max_bytes: Bytes of the largest state.
    """

    dsn: str = attrs.field(repr=False)
    connections: int = attrs.field(
        default=8, kw_only=True, validator=positive(int, optional=False, of="a session store")
    )
    _pool: PerProcess[Any] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        expect(self.dsn, str, "a PostgresStore takes a connection string")
        self._pool = PerProcess(self._open, lambda pool: pool.close())

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        check_claim(key, token, seconds)
        for size, data in self._run(_CLAIM, (key, token, seconds, self.max_bytes)):
            self.check_size(size or 0)
            if data is not None and not isinstance(data, bytes):
                raise not_bytes(key)
            return data
        waits = self._run(_WAIT, (key,))
        raise SessionBusy(key, float(waits[0][0]) if waits else 0.0)

    def renew(self, key: str, token: str, seconds: float) -> None:
        check_claim(key, token, seconds)
        if not self._run(_RENEW, (seconds, key, token)):
            raise SessionTaken(key)

    def save(self, key: str, token: str, data: bytes, seconds: float) -> None:
        self.check_save(key, token, data, seconds)
        if not self._run(_SAVE, (data, seconds, key, token)):
            raise SessionTaken(key)

    def delete(self, key: str, token: str | None = None) -> bool:
        check_delete(key, token)
        if token is None:
            return bool(self._run(_DELETE + " RETURNING 1", (key,)))
        if self._run(_DELETE + " AND token = %s RETURNING 1", (key, token)):
            return True
        if self._run(_WAIT, (key,)):
            raise SessionTaken(key)
        return False

    def sessions(self) -> Iterator[StoredSession]:
        after = ""
        while rows := self._run(_LIST, (after,)):
            for key, size, idle, claimed in rows:
                if is_key(key):
                    yield StoredSession(
                        key=key, size=size or 0, idle_seconds=max(0.0, float(idle)), claimed=claimed
                    )
            after = rows[-1][0]

    def expire(self, idle_seconds: float) -> int:
        check_idle(idle_seconds)
        return len(self._run(_EXPIRE, (idle_seconds,)))

    def close(self) -> None:
        self._pool.close()

    def _run(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """The rows of a statement, which is a transaction of its own."""
        pool = self._pool.get()
        import psycopg

        try:
            with pool.connection() as connection:
                rows: list[Any] = connection.execute(statement, values).fetchall()
                return rows
        except psycopg.Error as error:
            raise StoreUnavailable(
                f"the sessions in PostgreSQL cannot be used: {first_line(error)}"
            ) from error

    def _open(self) -> ConnectionPool[Any]:
        try:
            import psycopg
            from psycopg_pool import ConnectionPool
        except ImportError as error:
            raise needed("a PostgresStore", "postgres", error) from error
        settings: dict[str, Any] = {"autocommit": True, "connect_timeout": _TIMEOUT_SECONDS}
        try:
            with psycopg.connect(self.dsn, **settings) as connection:
                if not connection.execute(_EXISTS).fetchall()[0][0]:
                    with connection.transaction():
                        connection.execute(_LOCK)
                        connection.execute(_TABLE)
        except psycopg.Error as error:
            raise StoreUnavailable(f"PostgreSQL cannot be used: {first_line(error)}") from error
        return ConnectionPool(
            self.dsn,
            kwargs=settings,
            min_size=1,
            max_size=self.connections,
            timeout=_TIMEOUT_SECONDS,
            check=ConnectionPool.check_connection,  # a server that was restarted has closed them
            name="interpstack-sessions",
            open=True,
        )
