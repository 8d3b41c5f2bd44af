"""States of sessions as bytes.

Form: the bytes `iss`, the number of the form (1), the SHA-256 of the session's key and the rest,
and the payload of a record of the plugin `persistence`, compressed by Zstandard. The hash notices
damage, and states of other sessions; it is no signature, for which there is `EncryptedStore`.
"""

from __future__ import annotations

import hashlib
from typing import Final

from interpstack import SessionState
from interpstack_agents import RecordRejected
from interpstack_persistence.api import compress, decompress, pack_payload, unpack_payload
from interpstack_state import StateRejected

__all__ = ["pack", "rejected", "unpack"]

_FORM: Final = b"iss\x01"
_HEAD: Final = len(_FORM) + hashlib.sha256().digest_size


def pack(key: str, state: SessionState) -> bytes:
    """A state as bytes for the store.

    Raises:
        StateRejected: It is too large for this form.
    """
    payload, notice = pack_payload(state, None)
    lost = state.image is None and unpack_payload(payload).values is None
    if notice or lost:
        raise StateRejected("the state of the session is too large to be stored")
    body = compress(payload)
    return _FORM + _hash(key, body) + body


def unpack(key: str, data: bytes) -> SessionState:
    """The state that was passed to `pack`.

    Raises:
        StateRejected: The bytes are damaged, of another session or another form.
    """
    if data[:3] != _FORM[:3] or len(data) < _HEAD:
        raise rejected(key, "is damaged, or was saved through an EncryptedStore")
    if data[3] != _FORM[3]:
        raise rejected(key, f"has form {data[3]}, and this version reads form {_FORM[3]}")
    body = data[_HEAD:]
    if data[len(_FORM) : _HEAD] != _hash(key, body):
        raise rejected(key, "is damaged, or belongs to another session")
    try:
        return unpack_payload(decompress(body))
    except RecordRejected as error:
        raise rejected(key, f"is damaged: {error}") from error


def rejected(key: str, why: str) -> StateRejected:
    """The error for a state that cannot be used."""
    return StateRejected(
        f"the saved state of session {key!r:.80} {why}; it is kept in the store; delete the "
        "session there to start again without variables"
    )


def _hash(key: str, body: bytes) -> bytes:
    name = key.encode()
    return hashlib.sha256(len(name).to_bytes(8, "big") + name + body).digest()
