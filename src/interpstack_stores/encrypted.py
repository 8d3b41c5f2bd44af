"""States that only the holder of a key can read, or have written.

Form of a state: the bytes `isk`, the number of the form (1), 8 bytes that name the key, 32 random
bytes, and the ciphertext of AES-256-GCM with its tag. The random bytes make, with HKDF-SHA-256, a
key and a nonce that no other state has, so that any number of states may be written under one key.
The session's key in UTF-8 is associated data, behind the parts before the ciphertext.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from interpstack import ConfigurationError
from interpstack.checks import expect
from interpstack_stores.contract import SessionStore, StoredSession
from interpstack_stores.errors import StateRejected
from interpstack_stores.per_process import needed

__all__ = ["EncryptedStore"]

_FORM: Final = b"isk\x01"
_SALT: Final = 32
_NAME: Final = 8
_HEAD: Final = len(_FORM) + _NAME + _SALT
_TAG: Final = 16
_LEAST_KEY: Final = 32


def _checked(given: Sequence[bytes] | bytes) -> tuple[bytes, ...]:
    keys = (given,) if isinstance(given, bytes) else tuple(given)
    if not keys or any(not isinstance(key, bytes) or len(key) < _LEAST_KEY for key in keys):
        raise ConfigurationError(
            f"keys takes one or more keys, the first for writing, of at least {_LEAST_KEY} random "
            "bytes each, as secrets.token_bytes(32) makes them"
        )
    return keys


@attrs.define(eq=False)
class EncryptedStore(SessionStore):
    """A store whose states are encrypted and authenticated, each bound to its session.

    A state that was changed, written under another key, or moved from another session is refused.
    Someone who can write to the inner store can still restore an older state of the same session,
    or delete it.

    Args:
        inner: The store of the encrypted states. It is closed with this one.
        keys: Secret keys of at least 32 bytes. The first encrypts; all decrypt. To change the key,
            put the new one in front, and remove the old one once all states have been saved again.
    """

    inner: SessionStore
    _secrets: tuple[bytes, ...] = attrs.field(repr=False)
    _by_name: dict[bytes, bytes] = attrs.field(init=False, repr=False)

    def __init__(self, inner: SessionStore, keys: Sequence[bytes] | bytes) -> None:
        expect(inner, SessionStore, "an EncryptedStore takes the store of the encrypted states")
        most = inner.max_bytes - _HEAD - _TAG
        self.__attrs_init__(inner, _checked(keys), max_bytes=most)  # type: ignore[attr-defined]
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

    def sessions(self) -> Iterator[StoredSession]:
        return self.inner.sessions()

    def expire(self, idle_seconds: float) -> int:
        return self.inner.expire(idle_seconds)

    def close(self) -> None:
        self.inner.close()

    def _sealed(self, key: str, data: bytes) -> bytes:
        secret = self._secrets[0]
        salt = os.urandom(_SALT)
        head = _FORM + _name(secret) + salt
        cipher, nonce = _cipher(secret, salt)
        return head + bytes(cipher.encrypt(nonce, data, head + key.encode()))

    def _opened(self, key: str, data: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        if data[:3] != _FORM[:3] or len(data) < _HEAD + _TAG:
            raise StateRejected(f"the state of session {key!r:.80} is damaged or not encrypted")
        if data[3] != _FORM[3]:
            raise StateRejected(
                f"the state of session {key!r:.80} is encrypted in form {data[3]}; this version "
                f"reads form {_FORM[3]}"
            )
        name, salt = data[len(_FORM) : len(_FORM) + _NAME], data[_HEAD - _SALT : _HEAD]
        secret = self._by_name.get(name)
        if secret is None:
            raise StateRejected(
                f"the state of session {key!r:.80} is encrypted with a key that is not among the "
                "keys of this store"
            )
        cipher, nonce = _cipher(secret, salt)
        try:
            return bytes(cipher.decrypt(nonce, data[_HEAD:], data[:_HEAD] + key.encode()))
        except InvalidTag as error:
            raise StateRejected(
                f"the state of session {key!r:.80} was changed, or belongs to another session"
            ) from error


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
