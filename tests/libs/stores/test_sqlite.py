"""SQLite: a private file, and errors that name it."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from interpstack_stores import SQLiteStore, StateRejected, StoreUnavailable


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "sessions.db") as store:
        store.claim("a", "one", 9)
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert modes == {0o600}


def test_a_file_of_another_kind_is_refused_and_unharmed(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are notes " * 100)
    with pytest.raises(StoreUnavailable, match=r"the sessions in .*notes.txt cannot be used"):
        SQLiteStore(path).claim("a", "one", 9)
    assert path.read_text() == "these are notes " * 100


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="No such file or directory"):
        SQLiteStore(tmp_path / "none" / "sessions.db").claim("a", "one", 9)


@pytest.mark.parametrize("other", ["text", 5, 1.5])
def test_a_state_that_is_no_bytes_is_refused(tmp_path: Path, other: object) -> None:
    path = tmp_path / "sessions.db"
    with SQLiteStore(path) as store:
        store.claim("a", "one", 9)
        store.save("a", "one", b"state", 0)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE interpstack_sessions SET data = ?", (other,))
        with pytest.raises(StateRejected, match="is not bytes"):
            store.claim("a", "two", 9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_the_child_of_a_fork_opens_its_own_connection(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "sessions.db") as store:
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
        assert [one.claimed for one in store.sessions() if one.key == "bad"] == [False]
        assert store.claim("bad", "other", 9) == b"state"


@pytest.mark.parametrize("key", ["x'ff00'", "CAST(x'ff' AS TEXT)", "''"])
def test_a_damaged_key_hides_no_other_session(tmp_path: Path, key: str) -> None:
    with SQLiteStore(tmp_path / "s.db") as store:
        _damage(store, f"key = {key}, until = 0")
        assert [one.key for one in store.sessions()] == ["good"]
        assert store.expire(0) == 2


def test_a_row_without_times_holds_its_session_no_longer(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "CREATE TABLE interpstack_sessions (key PRIMARY KEY, token, until, used, data)"
        )
        connection.execute("INSERT INTO interpstack_sessions (key) VALUES ('a'), ('b')")
    with SQLiteStore(path) as store:
        assert {(one.key, one.claimed, one.idle_seconds) for one in store.sessions()} == {
            ("a", False, 0.0),
            ("b", False, 0.0),
        }
        assert store.claim("a", "one", 9) is None
        assert store.expire(0) == 1
        assert [one.key for one in store.sessions()] == ["a"]


def _damage(store: SQLiteStore, change: str) -> None:
    """Save two sessions, and change the row of one."""
    for key in ("good", "bad"):
        store.claim(key, "one", 0)
        store.save(key, "one", b"state", 0)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE interpstack_sessions SET {change} WHERE key = 'bad'")
