"""Sessions in the memory of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import attrs

from interpstack_stores.contract import (
    SessionStore,
    StoredSession,
    check_claim,
    check_delete,
    check_idle,
)
from interpstack_stores.errors import SessionBusy, SessionTaken

__all__ = ["MemoryStore"]


@attrs.define
class _Row:
    token: str
    until: float
    used: float
    data: bytes | None = None


@attrs.define(eq=False)
class MemoryStore(SessionStore):
    """Sessions in the memory of this process, for several stacks in the process, and for tests."""

    _rows: dict[str, _Row] = attrs.field(factory=dict, init=False, repr=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        check_claim(key, token, seconds)
        now = time.monotonic()
        with self._lock:
            row = self._rows.setdefault(key, _Row(token, now, now))
            if row.token != token and row.until > now:
                raise SessionBusy(key, row.until - now)
            data = row.data
            self._rows[key] = _Row(token, now + seconds, now, data)
        if data is not None:
            self.check_size(len(data))
        return data

    def renew(self, key: str, token: str, seconds: float) -> None:
        check_claim(key, token, seconds)
        with self._lock:
            self._change(key, token, seconds)

    def save(self, key: str, token: str, data: bytes, seconds: float) -> None:
        self.check_save(key, token, data, seconds)
        with self._lock:
            self._change(key, token, seconds, data)

    def delete(self, key: str, token: str | None = None) -> bool:
        check_delete(key, token)
        with self._lock:
            row = self._rows.get(key)
            if row is not None and token not in (None, row.token):
                raise SessionTaken(key)
            return self._rows.pop(key, None) is not None

    def sessions(self) -> Iterator[StoredSession]:
        now = time.monotonic()
        with self._lock:
            rows = list(self._rows.items())
        for key, row in rows:
            size = len(row.data or b"")
            yield StoredSession(
                key=key, size=size, idle_seconds=max(0.0, now - row.used), claimed=row.until > now
            )

    def expire(self, idle_seconds: float) -> int:
        check_idle(idle_seconds)
        now = time.monotonic()
        with self._lock:
            old = [
                key
                for key, row in self._rows.items()
                if row.until <= now and now - row.used >= idle_seconds
            ]
            for key in old:
                del self._rows[key]
        return len(old)

    def _change(self, key: str, token: str, seconds: float, data: bytes | None = None) -> None:
        row = self._rows.get(key)
        if row is None or row.token != token:
            raise SessionTaken(key)
        now = time.monotonic()
        self._rows[key] = _Row(token, now + seconds, now, row.data if data is None else data)
