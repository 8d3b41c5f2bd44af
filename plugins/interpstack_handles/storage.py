"""Storages of handles: the records and contents of one conversation's handles."""

from __future__ import annotations

import abc
import json
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import Any, Final

import attrs

from interpstack.checks import positive
from interpstack_handles.contents import HandleRecord
from interpstack_state import MAX_KEY_BYTES, BlobStore, StateBusy, StateRejected, StoreThreads

__all__ = [
    "BlobHandles",
    "HandleLimitExceeded",
    "HandleLimits",
    "HandleMissing",
    "HandleStorage",
    "check_room",
    "record_from",
    "record_to",
]

_MIB: Final = 2**20
_BOUND: Final = positive(int, optional=False, of="HandleLimits")
_FORM: Final = 1
#: Bytes of a conversation's key that stands in the keys of its blobs.
_KEY_BYTES: Final = MAX_KEY_BYTES - 60
#: Seconds that a claim holds, and that a claim of another process is waited for.
_CLAIM: Final = 30.0
_FIRST_LOOK, _LAST_LOOK = 0.005, 0.2


@attrs.frozen(kw_only=True)
class HandleLimits:
    """Limits of the handles of one conversation.

    Attributes:
        handles: Handles that it may have.
        total_bytes: Bytes of all their contents.
        part_bytes: Bytes of a part that one call reads.

    Raises:
        ConfigurationError: A value is not a whole number above 0.
    """

    handles: int = attrs.field(default=100, validator=_BOUND)
    total_bytes: int = attrs.field(default=32 * _MIB, validator=_BOUND)
    part_bytes: int = attrs.field(default=_MIB // 4, validator=_BOUND)


class HandleLimitExceeded(Exception):
    """Raised for a handle that the limits of its conversation do not allow."""


class HandleMissing(LookupError):
    """Raised for a handle that the conversation does not have."""


class HandleStorage(abc.ABC):
    """The handles of one conversation, as one call of code uses them."""

    @abc.abstractmethod
    async def records(self) -> Sequence[HandleRecord]:
        """Return the records of all handles, oldest first."""

    @abc.abstractmethod
    async def content(self, record: HandleRecord) -> bytes:
        """Return the content of a handle.

        Raises:
            HandleMissing: It is not there any more.
        """

    @abc.abstractmethod
    async def add(self, record: HandleRecord, data: bytes, limits: HandleLimits) -> None:
        """Store a handle; return once it is safe. One of the same id stays as it is.

        Raises:
            HandleLimitExceeded: There are too many, or they are too large together.
        """

    @abc.abstractmethod
    async def drop(self, record: HandleRecord) -> None:
        """Delete a handle."""


def check_room(records: Sequence[HandleRecord], record: HandleRecord, limits: HandleLimits) -> None:
    """Refuse a new handle that is one too many, or too large beside the others.

    Raises:
        HandleLimitExceeded: It is.
    """
    if len(records) >= limits.handles:
        raise HandleLimitExceeded(
            f"HandleLimits.handles allows {limits.handles} handles in a conversation"
        )
    total = sum(one.size for one in records)
    if total + record.size > limits.total_bytes:
        raise HandleLimitExceeded(
            f"HandleLimits.total_bytes allows {limits.total_bytes} bytes in a conversation; its "
            f"handles have {total}, and this value has {record.size}"
        )


def record_to(record: HandleRecord) -> dict[str, Any]:
    """The record as plain JSON data."""
    return attrs.asdict(record)


def record_from(data: Any) -> HandleRecord:
    """The record that `record_to` was given.

    Raises:
        StateRejected: The data are damaged.
    """
    try:
        record = HandleRecord(**data)
        texts = (record.id, record.name, record.type, record.preview, record.digest)
        good = all(isinstance(one, str) for one in texts) and type(record.size) is int
        if good and record.kind in ("text", "bytes", "json") and isinstance(record.shape, dict):
            return record
    except TypeError:
        pass  # of other fields
    raise StateRejected("the stored record of a handle is damaged")


@attrs.define(eq=False)
class _BlobClaim:
    """A blob that is claimed; `data` is `None` for one that nobody has saved."""

    key: str
    token: str = attrs.field(factory=lambda: secrets.token_hex(16))
    data: bytes | None = None

    def has(self, data: bytes | None) -> None:
        """Note what is saved."""
        self.data = data


@attrs.define(eq=False)
class BlobHandles(HandleStorage):
    """The handles of one conversation in a store of states.

    One blob lists them, and each content is a blob of its own; they are those of `store`, so they
    are encrypted where it is.

    Attributes:
        store: The store.
        threads: Threads for its calls.
        conversation: Identifies the conversation.
        lock: Lets the threads of this process wait for each other, instead of asking again and
            again whether the others are done.
    """

    store: BlobStore
    threads: StoreThreads
    conversation: str
    lock: threading.RLock = attrs.field(factory=threading.RLock)

    async def records(self) -> Sequence[HandleRecord]:
        return await self.threads.run(self._records)

    async def content(self, record: HandleRecord) -> bytes:
        return await self.threads.run(partial(self._content, record))

    async def add(self, record: HandleRecord, data: bytes, limits: HandleLimits) -> None:
        await self.threads.run(partial(self._add, record, data, limits))

    async def drop(self, record: HandleRecord) -> None:
        await self.threads.run(partial(self._drop, record))

    async def clear(self) -> None:
        """Delete all handles of the conversation."""
        await self.threads.run(self._clear)

    def _records(self) -> list[HandleRecord]:
        with self._claimed(self._key()) as claim:
            return _listed(claim.data)

    def _content(self, record: HandleRecord) -> bytes:
        with self._claimed(self._key(record.id)) as claim:
            if claim.data is None:
                raise HandleMissing(record.id)
            if sha256(claim.data).hexdigest() != record.digest:
                raise StateRejected(f"the stored content of handle {record.id} is damaged")
            return claim.data

    def _add(self, record: HandleRecord, data: bytes, limits: HandleLimits) -> None:
        with self._claimed(self._key()) as claim:
            records = _listed(claim.data)
            if any(one.id == record.id for one in records):
                return
            check_room(records, record, limits)
            with self._claimed(self._key(record.id)) as content:
                self._save(content, data)
            self._save(claim, _list_of([*records, record]))

    def _drop(self, record: HandleRecord) -> None:
        with self._claimed(self._key()) as claim:
            left = [one for one in _listed(claim.data) if one.id != record.id]
            self._save(claim, _list_of(left))
            self.store.delete(self._key(record.id))

    def _clear(self) -> None:
        for record in self._records():
            self.store.delete(self._key(record.id))
        self.store.delete(self._key())

    def _save(self, claim: _BlobClaim, data: bytes) -> None:
        self.store.save(claim.key, claim.token, data, _CLAIM)
        claim.has(data)

    @contextmanager
    def _claimed(self, key: str) -> Iterator[_BlobClaim]:
        """Claim a blob for a moment; a new one that is not saved is deleted again."""
        claim = _BlobClaim(key)
        left, pause = 2 * _CLAIM, _FIRST_LOOK
        with self.lock:
            while True:
                try:
                    claim.has(self.store.claim(key, claim.token, _CLAIM))
                    break
                except StateBusy as busy:  # another process uses it
                    if left <= 0:
                        raise
                    pause = min(2 * pause, _LAST_LOOK, max(busy.wait_seconds, _FIRST_LOOK))
                left -= pause
                time.sleep(pause)
            try:
                yield claim
            finally:
                self._release(claim)

    def _release(self, claim: _BlobClaim) -> None:
        if claim.data is None:
            self.store.delete(claim.key, claim.token)
        else:
            self.store.renew(claim.key, claim.token, 0)

    def _key(self, name: str = "") -> str:
        own, data = self.conversation, self.conversation.encode("utf-8", "surrogatepass")
        if len(data) > _KEY_BYTES:  # it leaves no room for the rest of the key
            own = sha256(data).hexdigest()
        return f"handle:{own}:{name}" if name else f"handles:{own}"


def _list_of(records: Sequence[HandleRecord]) -> bytes:
    stored = {"form": _FORM, "handles": [record_to(one) for one in records]}
    return json.dumps(stored).encode()


def _listed(data: bytes | None) -> list[HandleRecord]:
    if data is None:
        return []
    try:
        stored = json.loads(data)
        form, handles = stored["form"], stored["handles"]
    except (ValueError, TypeError, KeyError) as error:
        raise StateRejected("the stored list of handles is damaged") from error
    if form != _FORM or not isinstance(handles, list):
        raise StateRejected(
            f"the stored list of handles has the form {form!r:.20}; this release reads {_FORM}"
        )
    return [record_from(one) for one in handles]
