"""Encrypted states: unreadable, bound to their state and key, and readable after a rotation."""

from __future__ import annotations

import base64
import secrets
import sys
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_state import (
    EncryptedStateStore,
    EncryptedStore,
    FileStore,
    MemoryStore,
    StateRejected,
)

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
        with pytest.raises(StateRejected, match="state 'a'"):
            EncryptedStore(inner, OLD).claim("a", "two", 0)
    for damaged in (b"", data[:1], data[:43], data[:-1], data + b"\0", STATE):
        _put(inner, damaged)
        with pytest.raises(StateRejected):
            EncryptedStore(inner, OLD).claim("a", "two", 0)
    _put(inner, data)
    assert EncryptedStore(inner, OLD).claim("a", "two", 0) == STATE


def test_a_blob_of_another_state_is_refused() -> None:
    inner = MemoryStore()
    _put(inner, _saved(inner, "a"), "b")
    with pytest.raises(StateRejected, match="belongs to another one"):
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


# -- logs and inboxes ----------------------------------------------------------------------------

SECRET = "const token = 'correct horse'"


@pytest.fixture
def inner() -> MemoryStore:
    """A store with the encrypted state `a`, and all that belongs to it."""
    inner = MemoryStore()
    store = EncryptedStateStore(inner, OLD)
    store.create("a", STATE, label="running")
    store.take("a", "one", 600)
    store.append("a", "one", 0, [SECRET, SECRET, "third"])
    store.send("a", SECRET)
    store.send("a", "second")
    return inner


def _change_log(inner: MemoryStore, entries: list[str]) -> None:
    """Replace the log of the state `a`, as who has the database can."""
    taken = inner.take("a", "one", 600)
    assert taken is not None
    inner.delete("a")
    inner.create("a", taken.state.data, label=taken.state.label)
    inner.take("a", "one", 600)
    inner.append("a", "one", 0, entries)
    for _, message in taken.inbox:
        inner.send("a", message)


def test_nothing_of_logs_and_inboxes_is_readable(inner: MemoryStore) -> None:
    taken = inner.take("a", "one", 600)
    assert taken is not None
    texts = [*taken.log, *(text for _, text in taken.inbox)]
    assert len(set(texts)) == 5  # equal texts have different ciphertexts
    for sealed in (*texts, *(str(base64.b64decode(text)) for text in texts), repr(taken.state)):
        assert "correct horse" not in sealed
        assert "hunter2" not in sealed
    store = EncryptedStateStore(inner, OLD)
    assert list(store.log("a")) == [SECRET, SECRET, "third"]
    assert list(store.inbox("a")) == [(1, SECRET), (2, "second")]


def test_a_moved_entry_is_refused(inner: MemoryStore) -> None:
    first, second, third = inner.log("a")
    store = EncryptedStateStore(inner, OLD)
    for entries in ([second, first, third], [first, first, third], [first, third]):
        _change_log(inner, entries)
        for read in (store.log, lambda key: store.take(key, "one", 600)):
            with pytest.raises(StateRejected, match="state 'a' was changed, or belongs to another"):
                read("a")
    _change_log(inner, [first, second, third])
    assert len(store.log("a")) == 3


def test_an_entry_of_another_state_is_refused(inner: MemoryStore) -> None:
    store = EncryptedStateStore(inner, OLD)
    store.create("b", STATE)
    inner.take("b", "one", 600)
    inner.append("b", "one", 0, inner.log("a"))
    inner.send("b", inner.inbox("a")[0][1])
    with pytest.raises(StateRejected, match="state 'b' was changed, or belongs to another one"):
        store.log("b")
    with pytest.raises(StateRejected, match="state 'b' was changed, or belongs to another one"):
        store.inbox("b")


def test_blobs_entries_and_messages_do_not_replace_each_other(inner: MemoryStore) -> None:
    store = EncryptedStateStore(inner, OLD)
    blob = inner.claim("a", "one", 600)
    assert blob is not None
    entry, message = inner.log("a")[0], inner.inbox("a")[0][1]
    for wrong in (message, base64.b64encode(blob).decode()):
        _change_log(inner, [wrong])
        with pytest.raises(StateRejected, match="was changed, or belongs to another one"):
            store.log("a")
    for text in (entry, base64.b64encode(blob).decode()):
        number = inner.send("a", text)
        assert number is not None
        with pytest.raises(StateRejected, match="was changed, or belongs to another one"):
            store.inbox("a", number - 1)
    inner.save("a", "one", base64.b64decode(entry), 600)
    with pytest.raises(StateRejected, match="was changed, or belongs to another one"):
        store.read("a")


def test_every_changed_letter_of_an_entry_is_noticed(inner: MemoryStore) -> None:
    entry, *rest = inner.log("a")
    store = EncryptedStateStore(inner, OLD)
    for place in range(0, len(entry), 7):
        other = "A" if entry[place] != "A" else "B"
        _change_log(inner, [entry[:place] + other + entry[place + 1 :], *rest])
        with pytest.raises(StateRejected, match="state 'a'"):
            store.log("a")
    for damaged in ("", "plain text", entry[:-4], entry + "AAAA", "é"):
        _change_log(inner, [damaged, *rest])
        with pytest.raises(StateRejected, match="state 'a'"):
            store.log("a")


def test_logs_of_another_key_are_refused(inner: MemoryStore) -> None:
    store = EncryptedStateStore(inner, NEW)
    reads = (store.read, store.log, store.inbox, lambda key: store.take(key, "one", 600))
    for read in reads:
        with pytest.raises(StateRejected, match="a key that is not among the keys of this store"):
            read("a")


def test_the_key_of_a_log_is_changed_without_a_pause(inner: MemoryStore) -> None:
    both = EncryptedStateStore(inner, [NEW, OLD])
    both.append("a", "one", 3, ["fourth"])
    assert list(both.log("a")) == [SECRET, SECRET, "third", "fourth"]


def test_a_state_that_cannot_be_read_hides_no_other(
    inner: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    EncryptedStateStore(inner, NEW).create("b", STATE, label="running")
    store = EncryptedStateStore(inner, OLD)
    assert [one.key for one in store.states("running")] == ["a"]
    assert "a state is left out: state 'b' is encrypted with a key" in caplog.text


def test_the_inner_store_has_logs() -> None:
    with pytest.raises(ConfigurationError, match="takes a store with logs and inboxes"):
        EncryptedStateStore(FileStore("states"), OLD)  # type: ignore[arg-type]
