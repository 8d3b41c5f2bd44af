"""PostgreSQL: tables made once by many, lost connections, and errors that say what failed."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from interpstack import ConfigurationError
from interpstack_state import PostgresStore, StateRejected, StateTaken, StoreUnavailable


def test_many_may_make_the_tables_at_once(postgres: Any) -> None:
    dsn = postgres.new_database()

    def use(number: int) -> bytes | None:
        with PostgresStore(dsn) as store:
            return store.claim(f"key {number}", "one", 9)

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(use, range(6))) == [None] * 6


def test_connections_that_the_server_closed_are_opened_again(postgres: Any) -> None:
    dsn = postgres.new_database()
    with PostgresStore(dsn) as store:
        store.claim("a", "one", 9)
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        store.save("a", "one", b"state", 9)
        assert store.claim("a", "one", 9) == b"state"


def test_a_user_without_rights_to_make_tables_uses_those_that_are_there(postgres: Any) -> None:
    dsn = postgres.new_database()
    with PostgresStore(dsn) as store:
        store.claim("a", "one", 0)
    role = "guest_of_" + dsn.rpartition("=")[2]
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
        tables = "interpstack_states, interpstack_log, interpstack_inbox"
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {role}")
    with PostgresStore(dsn.replace("user=tester", f"user={role}")) as store:
        assert store.claim("a", "two", 9) is None
        assert store.create("b", b"blob")
        store.append("a", "two", 0, ["entry"])
        assert store.send("b", "message") == 1
        assert store.delete("a")


def test_text_is_text_whatever_the_encoding_of_the_database(postgres: Any) -> None:
    own = postgres.new_database()
    name = own.rpartition("=")[2]
    with psycopg.connect(own, autocommit=True) as owner:
        owner.execute(
            f"CREATE DATABASE {name}_ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'"
        )
    for dsn in (own.replace(name, f"{name}_ascii"), f"{own} client_encoding=LATIN1"):
        with PostgresStore(dsn) as store:
            store.create("é ✓", b"blob", label="läuft ✓")
            store.take("é ✓", "one ✓", 9)
            store.append("é ✓", "one ✓", 0, ["✓"])
            store.append("é ✓", "one ✓", 1, ["ß"])
            assert store.log("é ✓") == ["✓", "ß"]
            assert [one.key for one in store.blobs()] == ["é ✓"]
            assert [one.key for one in store.states("läuft ✓")] == ["é ✓"]
            with pytest.raises(StateTaken):
                store.append("é ✓", "two", 2, ["a"])


def test_a_server_that_is_away_is_an_error_of_the_store() -> None:
    with pytest.raises(StoreUnavailable, match="PostgreSQL cannot be used: ") as caught:
        PostgresStore("host=/nowhere dbname=x password=hunter2").claim("a", "one", 9)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(PostgresStore("password=hunter2"))


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'interpstack\[postgres\]'"):
        PostgresStore("dbname=x").claim("a", "one", 9)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'interpstack\[postgres\]'"):
        PostgresStore("dbname=x").exists()


@pytest.mark.parametrize("column", ["until", "used"])
@pytest.mark.parametrize("time", ["infinity", "-infinity"])
def test_a_damaged_row_hides_no_other(postgres: Any, column: str, time: str) -> None:
    dsn = postgres.new_database()
    with PostgresStore(dsn) as store:
        for key in ("good", "bad"):
            store.claim(key, "one", 0)
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute(f"UPDATE interpstack_states SET {column} = %s WHERE key = 'bad'", [time])
        assert {one.key: one.claimed for one in store.blobs()} == {"good": False, "bad": False}
        with pytest.raises(StateTaken):
            store.delete("bad", "other")
        assert store.claim("bad", "other", 0) is None


@pytest.mark.parametrize("column", ["token", "until", "used"])
def test_a_row_without_a_value_holds_its_state_no_longer(postgres: Any, column: str) -> None:
    dsn = postgres.new_database()
    with PostgresStore(dsn) as store:
        store.claim("bad", "one", 0)
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute(f"ALTER TABLE interpstack_states ALTER {column} DROP NOT NULL")
            other.execute(f"UPDATE interpstack_states SET {column} = NULL")
        (one,) = store.blobs()
        assert one.claimed is False
        assert store.claim("bad", "other", 0) is None
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute(f"UPDATE interpstack_states SET {column} = NULL")
        assert store.expire(0) == 1


def test_a_state_that_is_no_bytes_is_rejected(postgres: Any) -> None:
    dsn = postgres.new_database()
    with PostgresStore(dsn) as store:
        store.claim("a", "one", 0)
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute("ALTER TABLE interpstack_states ALTER data TYPE text")
            other.execute("UPDATE interpstack_states SET data = 'text'")
        with pytest.raises(StateRejected, match="its blob is not bytes; restore it"):
            store.claim("a", "one", 9)
        store.save("a", "one", b"state", 9)
