"""Sessions in a file of SQLite, for the processes of one machine."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack import start_anew_after_fork
from interpstack_stores.contract import (
    SessionStore,
    StoredSession,
    check_claim,
    check_delete,
    check_idle,
    is_key,
)
from interpstack_stores.errors import SessionBusy, SessionTaken, StoreUnavailable, not_bytes
from interpstack_stores.per_process import PerProcess

__all__ = ["SQLiteStore"]

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS interpstack_sessions (
    key TEXT PRIMARY KEY, token TEXT NOT NULL, until REAL NOT NULL, used REAL NOT NULL, data BLOB
)"""
#: A claim that ends never, or after MAX_CLAIM_SECONDS, in a damaged row, holds no more.
_CLAIM: Final = """
INSERT INTO interpstack_sessions AS s (key, token, until, used) VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET token = excluded.token, until = excluded.until, used = excluded.used
WHERE s.token = excluded.token
    OR NOT IFNULL(s.until - excluded.used > 0 AND s.until - excluded.used <= 1e9, 0)
RETURNING length(data), CASE WHEN length(data) <= ? THEN data END"""
_WAIT: Final = "SELECT IFNULL(until - ?, 0) FROM interpstack_sessions WHERE key = ?"
_RENEW: Final = "UPDATE interpstack_sessions SET until = ?, used = ? WHERE key = ? AND token = ?"
_SAVE: Final = _RENEW.replace("SET ", "SET data = ?, ")
_DELETE: Final = "DELETE FROM interpstack_sessions WHERE key = ?"
_LIST: Final = """
SELECT key, length(data), IFNULL(? - used, 0), IFNULL(until - ? > 0 AND until - ? <= 1e9, 0)
FROM interpstack_sessions"""
_EXPIRE: Final = """
DELETE FROM interpstack_sessions
WHERE NOT IFNULL(until - ? > 0 AND until - ? <= 1e9, 0) AND IFNULL(used <= ?, 1)"""
#: Seconds to wait for another process's change of the file.
_PATIENCE_SECONDS: Final = 30.0


class _Connection(sqlite3.Connection):
    """A connection that reads texts that are not Unicode: damaged rows must not hide the others."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.text_factory = lambda data: data.decode("utf-8", "surrogateescape")


@attrs.define(eq=False)
class SQLiteStore(SessionStore):
    """Sessions in a file of SQLite, for the processes of one machine.

    The file is created with access for its owner only. It must not be on a network file system.

    Args:
        path: The file.
        max_bytes: Bytes of the largest state.
    """

    path: Path = attrs.field(converter=Path)
    _connection: PerProcess[sqlite3.Connection] = attrs.field(init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self._connection = PerProcess(self._connect, sqlite3.Connection.close)
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        """Replace the lock, which the parent's threads may hold; called in the child of a fork."""
        self._lock = threading.Lock()

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        check_claim(key, token, seconds)
        now = time.time()
        for size, data in self._run(_CLAIM, (key, token, now + seconds, now, self.max_bytes)):
            self.check_size(size or 0)
            if data is not None and not isinstance(data, bytes):
                raise not_bytes(key)
            return data
        waits = self._run(_WAIT, (now, key))
        raise SessionBusy(key, waits[0][0] if waits else 0.0)

    def renew(self, key: str, token: str, seconds: float) -> None:
        check_claim(key, token, seconds)
        now = time.time()
        self._change(key, _RENEW, (now + seconds, now, key, token))

    def save(self, key: str, token: str, data: bytes, seconds: float) -> None:
        self.check_save(key, token, data, seconds)
        now = time.time()
        self._change(key, _SAVE, (data, now + seconds, now, key, token))

    def delete(self, key: str, token: str | None = None) -> bool:
        check_delete(key, token)
        returning = " RETURNING 1"
        if token is None:
            return bool(self._run(_DELETE + returning, (key,)))
        if self._run(_DELETE + " AND token = ?" + returning, (key, token)):
            return True
        if self._run(_WAIT, (0.0, key)):
            raise SessionTaken(key)
        return False

    def sessions(self) -> Iterator[StoredSession]:
        now = time.time()
        for key, size, idle, claimed in self._run(_LIST, (now,) * 3):
            if is_key(key):
                yield StoredSession(
                    key=key, size=size or 0, idle_seconds=max(0.0, idle), claimed=bool(claimed)
                )

    def expire(self, idle_seconds: float) -> int:
        check_idle(idle_seconds)
        now = time.time()
        return len(self._run(_EXPIRE + " RETURNING 1", (now, now, now - idle_seconds)))

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _change(self, key: str, statement: str, values: Sequence[Any]) -> None:
        if not self._run(statement + " RETURNING 1", values):
            raise SessionTaken(key)

    def _run(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """The rows of a statement, which is a transaction of its own."""
        try:
            with self._lock, closing(self._connection.get().execute(statement, values)) as cursor:
                return cursor.fetchall()
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(
                f"the sessions in {self.path} cannot be used: {error}"
            ) from error

    def _connect(self) -> sqlite3.Connection:
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(
            self.path,
            timeout=_PATIENCE_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(_TABLE)
        except BaseException:
            connection.close()
            raise
        return connection
