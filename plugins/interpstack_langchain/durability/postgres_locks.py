"""Advisory locks of PostgreSQL, on a connection beside the checkpointer's own."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from interpstack_langchain.durability.database_locks import DatabaseLocks

__all__ = ["PostgresLocks", "parameters_of"]

_log = logging.getLogger(__name__)

#: Options of a connection that are psycopg's, not the server's.
_OWN_OPTIONS: Final = (
    "autocommit",
    "context",
    "cursor_factory",
    "prepare_threshold",
    "row_factory",
)
_CONNECT_SECONDS: Final = "10"
#: The session keeps its connection behind a pooler for as long as its transaction is open, and
#: a transaction that only holds locks must not be ended for being idle, or for its age. Servers
#: before PostgreSQL 17 have no limit on the latter, and would refuse to set it.
_BEGIN: Final = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; "
    "SELECT set_config(name, '0', true) FROM pg_settings "
    "WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout'); "
)
#: Connections of the parents of this process: to close one would end the parent's session.
_of_parents: list[Any] = []


def parameters_of(conn: Any) -> dict[str, str] | None:
    """The parameters with which a checkpointer reaches its server.

    Args:
        conn: The checkpointer's `conn`: a connection of psycopg or a pool.

    Returns:
        Keywords and values of libpq; `None` if they cannot be known.
    """
    psycopg: Any = import_module("psycopg")
    try:
        if hasattr(conn, "info"):
            parameters = {**conn.info.get_parameters(), "password": conn.info.password}
        elif isinstance(conn.conninfo, str) and isinstance(conn.kwargs, Mapping | None):
            parameters = psycopg.conninfo.conninfo_to_dict(conn.conninfo)
            parameters |= {k: v for k, v in (conn.kwargs or {}).items() if k not in _OWN_OPTIONS}
        else:  # a function makes them anew for each connection
            return None
    except psycopg.Error:
        return None
    return {key: str(value) for key, value in parameters.items() if value}


class PostgresLocks(DatabaseLocks):
    """Advisory locks of one session.

    All locks of this process share one connection, which has an open transaction while it holds
    a lock. Where the connection fails, a warning is logged and nothing is locked.

    Args:
        parameters: Keywords and values of libpq.
    """

    def __init__(self, parameters: Mapping[str, str]) -> None:
        super().__init__()
        names = [parameters[name] for name in ("host", "port", "dbname") if name in parameters]
        self.place = f"PostgreSQL ({' '.join(names) or 'the default database'})"
        self._parameters = {"connect_timeout": _CONNECT_SECONDS, **parameters}
        self._lock = threading.Lock()
        self._conn: Any = None
        self._held: set[int] = set()
        self._warned = False

    def take(self, number: int) -> bool:
        psycopg: Any = import_module("psycopg")
        with self._lock:
            if number in self._held:
                return True
            for _ in range(2):  # a server may have closed a connection that nobody needed
                fresh = self._conn is None
                try:
                    taken = self._take(number)
                except psycopg.Error as error:
                    if fresh or self._held:
                        self._warn(error)
                    self._drop()
                    if fresh:
                        break
                else:
                    if taken:
                        self._held.add(number)
                    return taken
            return True

    def give_back(self, number: int) -> None:
        psycopg: Any = import_module("psycopg")
        with self._lock:
            if self._conn is None or number not in self._held:
                return
            self._held.discard(number)
            end = "" if self._held else "; COMMIT"
            try:
                self._conn.execute(f"SELECT pg_advisory_unlock({number}){end}")
            except psycopg.Error as error:
                self._warn(error)
                self._drop()

    def abandon(self) -> None:
        super().abandon()
        self._lock = threading.Lock()
        self._held.clear()
        if self._conn is not None:
            self._closing.detach()
            _of_parents.append(self._conn)
            self._conn = None

    def _take(self, number: int) -> bool:
        if self._conn is None:
            psycopg: Any = import_module("psycopg")
            conn = psycopg.connect(**self._parameters, autocommit=True, prepare_threshold=None)
            self._conn = conn
            self._closing = weakref.finalize(self, conn.close)
        begin = "" if self._held else _BEGIN
        cursor = self._conn.execute(f"{begin}SELECT pg_try_advisory_lock({number})")
        while cursor.nextset():
            pass
        (taken,) = cursor.fetchone()
        if not taken and not self._held:
            self._conn.execute("COMMIT")
        return bool(taken)

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            _log.warning(
                "locks in the database of checkpoints failed (%s), so two processes that resume "
                "one thread at the same time may both make its calls",
                error,
            )

    def _drop(self) -> None:
        """Close the session, which has lost its locks."""
        self._held.clear()
        if self._conn is not None:
            self._closing()
            self._conn = None
