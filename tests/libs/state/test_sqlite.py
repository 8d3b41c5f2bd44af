"""SQLite: a private file, which may be read only, and errors that name it."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_state import SQLiteStore, StateRejected, StoreUnavailable


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "states.db") as store:
        store.claim("a", "one", 9)
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert modes == {0o600}


def test_a_file_of_another_kind_is_refused_and_unharmed(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are notes " * 100)
    with pytest.raises(StoreUnavailable, match=r"the states in .*notes.txt cannot be used"):
        SQLiteStore(path).claim("a", "one", 9)
    assert path.read_text() == "these are notes " * 100


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"there is no folder .*none.; make it, or name"):
        SQLiteStore(tmp_path / "none" / "states.db").claim("a", "one", 9)


@pytest.mark.parametrize("other", ["text", 5, 1.5])
def test_a_state_that_is_no_bytes_is_refused(tmp_path: Path, other: object) -> None:
    path = tmp_path / "states.db"
    with SQLiteStore(path) as store:
        store.claim("a", "one", 9)
        store.save("a", "one", b"state", 0)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE interpstack_states SET data = ?", (other,))
        with pytest.raises(StateRejected, match="is not bytes"):
            store.claim("a", "two", 9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_the_child_of_a_fork_opens_its_own_connection(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "states.db") as store:
        store.claim("a", "one", 9)
        child = os.fork()
        if child == 0:
            try:
                store.save("a", "one", b"of the child", 9)
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert store.claim("a", "one", 9) == b"of the child"


@pytest.mark.parametrize("end", ["9e999", "'text'", "1e300", "x'00'"])
def test_a_claim_without_an_end_does_not_hold(tmp_path: Path, end: str) -> None:
    with SQLiteStore(tmp_path / "s.db") as store:
        _damage(store, f"until = {end}")
        assert [one.claimed for one in store.blobs() if one.key == "bad"] == [False]
        assert store.claim("bad", "other", 9) == b"state"


@pytest.mark.parametrize("key", ["x'ff00'", "CAST(x'ff' AS TEXT)", "''"])
def test_a_damaged_key_hides_no_other_state(tmp_path: Path, key: str) -> None:
    with SQLiteStore(tmp_path / "s.db") as store:
        _damage(store, f"key = {key}, until = 0")
        assert [one.key for one in store.blobs()] == ["good"]
        assert store.expire(0) == 2


def test_a_row_without_times_holds_its_state_no_longer(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "CREATE TABLE interpstack_states (id INTEGER PRIMARY KEY AUTOINCREMENT, space, key, "
            "label, created, token, until, used, logged, sent, data, UNIQUE (space, key))"
        )
        connection.execute(
            "INSERT INTO interpstack_states (space, key) "
            "VALUES ('sessions', 'a'), ('sessions', 'b')"
        )
    with SQLiteStore(path) as store:
        assert {(one.key, one.claimed, one.idle_seconds) for one in store.blobs()} == {
            ("a", False, 0.0),
            ("b", False, 0.0),
        }
        assert store.claim("a", "one", 9) is None
        assert store.expire(0) == 1
        assert [one.key for one in store.blobs()] == ["a"]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A file with a state, which no process has open."""
    path = tmp_path / "states.db"
    with SQLiteStore(path) as store:
        store.create("a", b"blob", label="running")
        store.take("a", "one", 600)
        store.append("a", "one", 0, ["entry"])
        store.send("a", "message")
    return path


def test_a_store_that_is_read_only_reads(made: Path) -> None:
    with SQLiteStore(made, read_only=True) as store:
        assert store.exists()
        assert [(one.key, one.data) for one in store.states("running")] == [("a", b"blob")]
        assert list(store.log("a")) == ["entry"]
        assert list(store.inbox("a")) == [(1, "message")]
        assert [(one.key, one.claimed) for one in store.blobs()] == [("a", True)]
        with SQLiteStore(made) as other:  # which goes on
            other.append("a", "one", 1, ["later"])
        assert list(store.log("a")) == ["entry", "later"]


def test_a_store_that_is_read_only_refuses_changes(made: Path) -> None:
    with SQLiteStore(made, read_only=True) as store:
        changes: list[Callable[[], object]] = [
            lambda: store.create("b", b"blob"),
            lambda: store.claim("a", "one", 9),
            lambda: store.take("a", "one", 9),
            lambda: store.renew("a", "one", 9),
            lambda: store.save("a", "one", b"other", 9),
            lambda: store.append("a", "one", 1, ["later"]),
            lambda: store.send("a", "again"),
            lambda: store.delete("a"),
            lambda: store.expire(0),
        ]
        for change in changes:
            with pytest.raises(StoreUnavailable, match="attempt to write a readonly database"):
                change()
        assert [one.data for one in store.states()] == [b"blob"]


def test_a_store_that_is_read_only_makes_no_file(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "none.db", read_only=True) as store:
        assert not store.exists()
        with pytest.raises(StoreUnavailable, match="unable to open database file"):
            store.read("a")
    assert not list(tmp_path.iterdir())


def test_a_file_without_states_has_none(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE notes (text)")
    for store in (SQLiteStore(path), SQLiteStore(path, read_only=True)):
        assert not store.exists()
    with closing(sqlite3.connect(path)) as database:
        assert len(database.execute("SELECT * FROM sqlite_master").fetchall()) == 1


def test_a_file_that_nobody_changes_is_read_without_locks(made: Path) -> None:
    with SQLiteStore(made, read_only=True, unchanging=True) as store:
        assert store.exists()
        assert list(store.log("a")) == ["entry"]
        assert list(made.parent.iterdir()) == [made]  # no lock, and no journal


def test_a_file_without_locks_is_not_changed(made: Path) -> None:
    with pytest.raises(ConfigurationError, match="it must be read_only"):
        SQLiteStore(made, unchanging=True)


@pytest.mark.parametrize("flushes", [True, False])
def test_a_change_may_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flushes: bool
) -> None:
    said: list[str] = []

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = opened(*args, **options)
        connection.set_trace_callback(said.append)
        return connection

    opened = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", connect)
    with SQLiteStore(tmp_path / "states.db", flushes=flushes) as store:
        store.create("a", b"blob")
    assert ("PRAGMA synchronous = FULL" in said) == flushes
    assert ("PRAGMA synchronous = NORMAL" in said) != flushes


def test_a_change_waits_for_the_disk_by_default(tmp_path: Path) -> None:
    assert SQLiteStore(tmp_path / "states.db").flushes


def _damage(store: SQLiteStore, change: str) -> None:
    """Save two states, and change the row of one."""
    for key in ("good", "bad"):
        store.claim(key, "one", 0)
        store.save(key, "one", b"state", 0)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE interpstack_states SET {change} WHERE key = 'bad'")
