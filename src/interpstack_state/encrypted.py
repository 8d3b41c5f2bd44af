"""States that only the holder of a key can read, or have written.

Form of a state: the bytes `isk`, the number of the form (1), 8 bytes that name the key, 32 random
bytes, and the ciphertext of AES-256-GCM with its tag. The random bytes make, with HKDF-SHA-256, a
key and a nonce that no other state has, so that any number of states may be written under one key.
The state's key in UTF-8 is associated data, behind the parts before the ciphertext; for an entry of
its log the number comes before the key, so that no entry can take the place of another.
"""

from __future__ import annotations

import hashlib
import logging
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

import attrs

from interpstack import ConfigurationError
from interpstack.checks import expect
from interpstack_state.contract import (
    BlobStore,
    StateStore,
    StoredBlob,
    StoredState,
    TakenState,
    check_append,
    check_create,
    check_key,
    check_texts,
    is_repeated,
)
from interpstack_state.errors import StateRejected
from interpstack_state.per_process import needed

__all__ = ["EncryptedStateStore", "EncryptedStore"]

_log = logging.getLogger(__name__)
_Inner = TypeVar("_Inner", bound=BlobStore)
_FORM: Final = b"isk\x01"
_SALT: Final = 32
_NAME: Final = 8
_HEAD: Final = len(_FORM) + _NAME + _SALT
_TAG: Final = 16
_LEAST_KEY: Final = 32
#: The place of all messages: their numbers are not known when they are encrypted.
_INBOX: Final = "inbox"


def _checked(given: Sequence[bytes] | bytes) -> tuple[bytes, ...]:
    keys = (given,) if isinstance(given, bytes) else tuple(given)
    if not keys or any(not isinstance(key, bytes) or len(key) < _LEAST_KEY for key in keys):
        raise ConfigurationError(
            f"keys takes one or more keys, the first for writing, of at least {_LEAST_KEY} random "
            "bytes each, as secrets.token_bytes(32) makes them"
        )
    return keys


@attrs.define(eq=False, init=False)
class EncryptedStore(BlobStore, Generic[_Inner]):
    """A store whose blobs are encrypted and authenticated, each bound to its state.

    A blob that was changed, written under another key, or moved from another state is refused.
    Someone who can write to the inner store can still restore an older blob of the same state, or
    delete it.

    Args:
        inner: The store of the encrypted states. It is closed with this one.
        keys: Secret keys of at least 32 bytes. The first encrypts; all decrypt. To change the key,
            put the new one in front, and remove the old one once all states have been saved again.
    """

    inner: _Inner
    _secrets: tuple[bytes, ...] = attrs.field(repr=False)
    _by_name: dict[bytes, bytes] = attrs.field(init=False, repr=False)

    def __init__(self, inner: _Inner, keys: Sequence[bytes] | bytes) -> None:
        expect(inner, BlobStore, "an EncryptedStore takes the store of the encrypted states")
        most = inner.max_bytes - _HEAD - _TAG
        self.__attrs_init__(inner, _checked(keys), max_bytes=most)
        try:
            import cryptography  # noqa: F401 - missing here, not when the first state is saved
        except ImportError as error:
            raise needed("an EncryptedStore", "sessions", error) from error
        self._by_name = {_name(secret): secret for secret in self._secrets}

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        data = self.inner.claim(key, token, seconds)
        return None if data is None else self._opened(key, data)

    def renew(self, key: str, token: str, seconds: float) -> None:
        self.inner.renew(key, token, seconds)

    def save(self, key: str, token: str, data: bytes, seconds: float) -> None:
        self.check_save(key, token, data, seconds)
        self.inner.save(key, token, self._sealed(key, data), seconds)

    def delete(self, key: str, token: str | None = None) -> bool:
        return self.inner.delete(key, token)

    def blobs(self) -> Iterator[StoredBlob]:
        return self.inner.blobs()

    def expire(self, idle_seconds: float) -> int:
        return self.inner.expire(idle_seconds)

    @property
    def threads(self) -> int:
        return max(1, self.inner.threads)

    def open(self) -> None:
        self.inner.open()

    def close(self) -> None:
        self.inner.close()

    def _sealed(self, key: str, data: bytes, place: str = "") -> bytes:
        secret = self._secrets[0]
        salt = os.urandom(_SALT)
        head = _FORM + _name(secret) + salt
        cipher, nonce = _cipher(secret, salt)
        return head + bytes(cipher.encrypt(nonce, data, head + _bound(key, place)))

    def _opened(self, key: str, data: bytes, place: str = "") -> bytes:
        from cryptography.exceptions import InvalidTag

        if data[:3] != _FORM[:3] or len(data) < _HEAD + _TAG:
            raise StateRejected(f"state {key!r:.80} is damaged or not encrypted")
        if data[3] != _FORM[3]:
            raise StateRejected(
                f"state {key!r:.80} is encrypted in form {data[3]}; this version reads form "
                f"{_FORM[3]}"
            )
        name, salt = data[len(_FORM) : len(_FORM) + _NAME], data[_HEAD - _SALT : _HEAD]
        secret = self._by_name.get(name)
        if secret is None:
            raise StateRejected(
                f"state {key!r:.80} is encrypted with a key that is not among the keys of this "
                "store"
            )
        cipher, nonce = _cipher(secret, salt)
        try:
            return bytes(cipher.decrypt(nonce, data[_HEAD:], data[:_HEAD] + _bound(key, place)))
        except InvalidTag as error:
            raise StateRejected(
                f"state {key!r:.80} was changed, or belongs to another one"
            ) from error


@attrs.define(eq=False, init=False)
class EncryptedStateStore(EncryptedStore[StateStore], StateStore):
    """An `EncryptedStore` with logs and inboxes, which are encrypted, too; labels are not.

    Someone who can write to the inner store can still cut the end off a log, and move messages
    within an inbox.

    Args:
        inner: The store of the encrypted states. It is closed with this one.
        keys: As for `EncryptedStore`.
    """

    def __init__(self, inner: StateStore, keys: Sequence[bytes] | bytes) -> None:
        expect(inner, StateStore, "an EncryptedStateStore takes a store with logs and inboxes")
        super().__init__(inner, keys)

    def save(
        self, key: str, token: str, data: bytes, seconds: float, *, label: str | None = None
    ) -> None:
        self.check_save(key, token, data, seconds)
        self.inner.save(key, token, self._sealed(key, data), seconds, label=label)

    def create(self, key: str, data: bytes, *, label: str = "", created: float = 0.0) -> bool:
        check_create(key, label, created)
        self.check_blob(data)
        return self.inner.create(key, self._sealed(key, data), label=label, created=created)

    def read(self, key: str) -> StoredState | None:
        found = self.inner.read(key)
        return None if found is None else self._state(found)

    def states(self, label: str | None = None, limit: int = 100) -> Sequence[StoredState]:
        return list(self._readable(self.inner.states(label, limit)))

    def take(self, key: str, token: str, seconds: float) -> TakenState | None:
        taken = self.inner.take(key, token, seconds)
        if taken is None:
            return None
        return TakenState(
            state=self._state(taken.state),
            log=self._entries(key, taken.log),
            inbox=[(number, self._text(key, text, _INBOX)) for number, text in taken.inbox],
        )

    def append(self, key: str, token: str, index: int, entries: Sequence[str]) -> None:
        check_append(key, token, index, entries)
        sealed = [
            self._sealed_text(key, entry, f"{number}")
            for number, entry in enumerate(entries, index)
        ]
        try:
            self.inner.append(key, token, index, sealed)
        except StateRejected:
            if not is_repeated(self.log(key), index, entries):  # ciphertexts of a text differ
                raise

    def log(self, key: str) -> Sequence[str]:
        return self._entries(key, self.inner.log(key))

    def send(self, key: str, message: str) -> int | None:
        check_key(key)
        check_texts("a message", [message])
        return self.inner.send(key, self._sealed_text(key, message, _INBOX))

    def inbox(self, key: str, after: int = 0) -> Sequence[tuple[int, str]]:
        sent = self.inner.inbox(key, after)
        return [(number, self._text(key, text, _INBOX)) for number, text in sent]

    def _readable(self, states: Sequence[StoredState]) -> Iterator[StoredState]:
        """The states that are not damaged, which must not hide the others."""
        for found in states:
            try:
                yield self._state(found)
            except StateRejected as error:
                _log.warning("a state is left out: %s", error)

    def _state(self, found: StoredState) -> StoredState:
        if not found.data:  # it was claimed, and never saved
            return found
        return attrs.evolve(found, data=self._opened(found.key, found.data))

    def _entries(self, key: str, log: Sequence[str]) -> Sequence[str]:
        return [self._text(key, text, f"{number}") for number, text in enumerate(log)]

    def _sealed_text(self, key: str, text: str, place: str) -> str:
        return b64encode(self._sealed(key, text.encode(), place)).decode()

    def _text(self, key: str, sealed: str, place: str) -> str:
        try:
            data = b64decode(sealed, validate=True)
        except ValueError as error:
            raise StateRejected(f"state {key!r:.80} is damaged or not encrypted") from error
        return self._opened(key, data, place).decode()


def _bound(key: str, place: str) -> bytes:
    """What a ciphertext belongs to: a state, or a place in one. No key has NUL."""
    return key.encode() if not place else f"\0{place}\0{key}".encode()


def _name(secret: bytes) -> bytes:
    """The name of a key, which says nothing about it."""
    return hashlib.sha256(b"interpstack key\0" + secret).digest()[:_NAME]


def _cipher(secret: bytes, salt: bytes) -> tuple[Any, bytes]:
    """The cipher and the nonce of one state."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    made = HKDF(SHA256(), 44, salt, b"interpstack session").derive(secret)
    return AESGCM(made[:32]), made[32:]
