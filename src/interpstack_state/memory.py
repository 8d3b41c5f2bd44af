"""States in the memory of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import attrs

from interpstack_state.contract import (
    StateStore,
    StoredBlob,
    StoredState,
    TakenState,
    check_append,
    check_claim,
    check_create,
    check_delete,
    check_idle,
    check_key,
    check_label,
    check_limit,
    check_texts,
    is_repeated,
)
from interpstack_state.errors import StateBusy, StateTaken, other_index

__all__ = ["MemoryStore"]


@attrs.define
class _Row:
    """A state: its claim, and what belongs to it."""

    token: str | None
    until: float
    used: float
    data: bytes | None = None
    label: str = ""
    created: float | None = None
    log: list[str] = attrs.field(factory=list)
    inbox: list[str] = attrs.field(factory=list)

    def hold(self, token: str, seconds: float) -> None:
        """Let a claim hold from now on."""
        self.token, self.used = token, time.monotonic()
        self.until = self.used + seconds

    def save(self, data: bytes, label: str | None) -> None:
        """Replace the blob, and the label unless it is `None`."""
        self.data = data
        self.label = self.label if label is None else label

    def stored(self, key: str) -> StoredState:
        return StoredState(key=key, label=self.label, data=self.data or b"")


@attrs.define(eq=False)
class MemoryStore(StateStore):
    """States in the memory of this process, for its stacks and event loops, and for tests."""

    _rows: dict[str, _Row] = attrs.field(factory=dict, init=False, repr=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    @property
    def threads(self) -> int:
        return 0

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        check_claim(key, token, seconds)
        with self._lock:
            data = self._claimed(key, token, seconds, make=True).data
        if data is not None:
            self.check_size(len(data))
        return data

    def renew(self, key: str, token: str, seconds: float) -> None:
        check_claim(key, token, seconds)
        with self._lock:
            self._own(key, token).hold(token, seconds)

    def save(
        self, key: str, token: str, data: bytes, seconds: float, *, label: str | None = None
    ) -> None:
        self.check_save(key, token, data, seconds)
        check_label(label or "")
        with self._lock:
            row = self._own(key, token)
            row.save(data, label)
            row.hold(token, seconds)

    def delete(self, key: str, token: str | None = None) -> bool:
        check_delete(key, token)
        with self._lock:
            row = self._rows.get(key)
            if row is not None and token not in (None, row.token):
                raise StateTaken(key)
            return self._rows.pop(key, None) is not None

    def blobs(self) -> Iterator[StoredBlob]:
        now = time.monotonic()
        with self._lock:
            rows = list(self._rows.items())
        for key, row in rows:
            size = len(row.data or b"")
            yield StoredBlob(
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

    def create(self, key: str, data: bytes, *, label: str = "", created: float = 0.0) -> bool:
        check_create(key, label, created)
        self.check_blob(data)
        now = time.monotonic()
        made = _Row(None, now, now, data, label, created)
        with self._lock:
            return self._rows.setdefault(key, made) is made

    def read(self, key: str) -> StoredState | None:
        check_key(key)
        with self._lock:
            row = self._rows.get(key)
            return None if row is None else row.stored(key)

    def states(self, label: str | None = None, limit: int = 100) -> Sequence[StoredState]:
        check_limit(limit)
        with self._lock:
            found = [
                (row.created, key, row.stored(key))
                for key, row in self._rows.items()
                if row.created is not None and label in (None, row.label)
            ]
        found.sort(key=lambda one: one[:2], reverse=True)
        return [state for _, _, state in found[:limit]]

    def take(self, key: str, token: str, seconds: float) -> TakenState | None:
        check_claim(key, token, seconds)
        with self._lock:
            if key not in self._rows:
                return None
            row = self._claimed(key, token, seconds, make=False)
            return TakenState(
                state=row.stored(key),
                log=tuple(row.log),
                inbox=tuple(enumerate(row.inbox, 1)),
            )

    def append(self, key: str, token: str, index: int, entries: Sequence[str]) -> None:
        check_append(key, token, index, entries)
        with self._lock:
            row = self._own(key, token)
            if index != len(row.log):
                if is_repeated(row.log, index, entries):
                    return
                raise other_index(key, index, len(row.log))
            row.log.extend(entries)

    def log(self, key: str) -> Sequence[str]:
        check_key(key)
        with self._lock:
            row = self._rows.get(key)
            return () if row is None else tuple(row.log)

    def send(self, key: str, message: str) -> int | None:
        check_key(key)
        check_texts("a message", [message])
        with self._lock:
            row = self._rows.get(key)
            if row is None:
                return None
            row.inbox.append(message)
            return len(row.inbox)

    def inbox(self, key: str, after: int = 0) -> Sequence[tuple[int, str]]:
        check_key(key)
        with self._lock:
            row = self._rows.get(key)
            first = max(after, 0)
            return () if row is None else tuple(enumerate(row.inbox[first:], first + 1))

    def _claimed(self, key: str, token: str, seconds: float, *, make: bool) -> _Row:
        now = time.monotonic()
        row = self._rows.setdefault(key, _Row(token, now, now)) if make else self._rows[key]
        if row.token != token and row.until > now:
            raise StateBusy(key, row.until - now, row.until)
        row.hold(token, seconds)
        return row

    def _own(self, key: str, token: str) -> _Row:
        row = self._rows.get(key)
        if row is None or row.token != token:
            raise StateTaken(key)
        return row
