"""Encrypted states: unreadable, bound to their session and key, and readable after a rotation."""

from __future__ import annotations

import secrets
import sys
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_stores import EncryptedStore, MemoryStore, StateRejected

OLD, NEW = secrets.token_bytes(32), secrets.token_bytes(32)
STATE = b"const password = 'hunter2'"


def _saved(inner: MemoryStore, key: str = "a", secret: bytes = OLD) -> bytes:
    """What an encrypted store has put into its inner one."""
    store = EncryptedStore(inner, secret)
    store.claim(key, "one", 9)
    store.save(key, "one", STATE, 0)
    data = inner.claim(key, "reader", 0)
    assert data is not None
    return data


def _put(inner: MemoryStore, data: bytes, key: str = "a") -> None:
    inner.claim(key, "attacker", 9)
    inner.save(key, "attacker", data, 0)


def test_the_inner_store_sees_ciphertext() -> None:
    inner = MemoryStore()
    data = _saved(inner)
    assert b"hunter2" not in data
    assert OLD not in data
    assert EncryptedStore(inner, OLD).claim("a", "two", 0) == STATE


def test_no_two_states_have_the_same_ciphertext() -> None:
    assert _saved(MemoryStore())[12:] != _saved(MemoryStore())[12:]


def test_every_changed_byte_is_noticed() -> None:
    inner = MemoryStore()
    data = _saved(inner)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1
        _put(inner, bytes(changed))
        with pytest.raises(StateRejected, match="session 'a'"):
            EncryptedStore(inner, OLD).claim("a", "two", 0)
    for damaged in (b"", data[:1], data[:43], data[:-1], data + b"\0", STATE):
        _put(inner, damaged)
        with pytest.raises(StateRejected):
            EncryptedStore(inner, OLD).claim("a", "two", 0)
    _put(inner, data)
    assert EncryptedStore(inner, OLD).claim("a", "two", 0) == STATE


def test_a_state_of_another_session_is_refused() -> None:
    inner = MemoryStore()
    _put(inner, _saved(inner, "a"), "b")
    with pytest.raises(StateRejected, match="belongs to another session"):
        EncryptedStore(inner, OLD).claim("b", "two", 0)


def test_a_key_is_changed_without_a_pause() -> None:
    inner = MemoryStore()
    _saved(inner)
    both = EncryptedStore(inner, [NEW, OLD])
    assert both.claim("a", "two", 9) == STATE
    with pytest.raises(StateRejected, match="not among the keys of this store"):
        EncryptedStore(inner, NEW).claim("a", "two", 9)
    both.save("a", "two", STATE, 0)  # from now on under the new key
    assert EncryptedStore(inner, NEW).claim("a", "three", 0) == STATE
    with pytest.raises(StateRejected, match="not among the keys"):
        EncryptedStore(inner, OLD).claim("a", "three", 0)


def test_a_later_form_is_named() -> None:
    inner = MemoryStore()
    data = _saved(inner)
    _put(inner, data[:3] + b"\x02" + data[4:])
    with pytest.raises(StateRejected, match="form 2; this version reads form 1"):
        EncryptedStore(inner, OLD).claim("a", "two", 0)


@pytest.mark.parametrize("keys", [b"", b"short", [], [OLD, b"short"], ["x" * 32], [None]])
def test_weak_keys_are_refused(keys: Any) -> None:
    with pytest.raises(ConfigurationError, match="at least 32 random bytes"):
        EncryptedStore(MemoryStore(), keys)


def test_the_inner_store_is_a_store() -> None:
    with pytest.raises(ConfigurationError, match="takes the store of the encrypted states"):
        EncryptedStore("memory:", OLD)  # type: ignore[arg-type]


def test_keys_are_not_shown() -> None:
    assert repr(OLD)[2:10] not in repr(EncryptedStore(MemoryStore(), OLD))


def test_what_just_fits_the_inner_store_is_saved() -> None:
    inner = MemoryStore(max_bytes=1000)
    store = EncryptedStore(inner, OLD)
    store.claim("a", "one", 9)
    store.save("a", "one", bytes(store.max_bytes), 9)
    with pytest.raises(StateRejected, match="at most"):
        store.save("a", "one", bytes(store.max_bytes + 1), 9)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'interpstack\[sessions\]'"):
        EncryptedStore(MemoryStore(), OLD)
