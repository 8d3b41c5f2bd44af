"""Advisory locks of a real PostgreSQL server."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import psycopg
import psycopg_pool
import pytest

from interpstack_langchain.durability.postgres_locks import PostgresLocks, parameters_of


@pytest.fixture
def made(postgres: Any) -> Callable[[], PostgresLocks]:
    """Makes locks on one database, each with a session of its own, as processes have."""
    with psycopg.connect(postgres.new_database()) as conn:
        parameters = parameters_of(conn)
    assert parameters
    return lambda: PostgresLocks(parameters)


def test_sessions_exclude_each_other(made: Callable[[], PostgresLocks]) -> None:
    first, second = made(), made()
    assert [first.take(1), first.take(2), second.take(1), second.take(3)] == [True] * 2 + [
        False,
        True,
    ]
    first.give_back(1)
    assert [second.take(1), second.take(2)] == [True, False]
    first.give_back(2)
    first.give_back(2)
    assert second.take(2)


def test_a_second_holder_in_one_process_gives_all_back(made: Callable[[], PostgresLocks]) -> None:
    locks = made()
    assert [locks.take(1), locks.take(1)] == [True, True]
    locks.give_back(1)
    assert made().take(1)


def test_nothing_is_open_while_nothing_is_held(made: Callable[[], PostgresLocks]) -> None:
    locks, other = made(), made()
    idle = psycopg.pq.TransactionStatus.IDLE
    assert locks.take(1)
    assert locks._conn.info.transaction_status != idle
    assert not other.take(1)
    assert other._conn.info.transaction_status == idle
    locks.give_back(1)
    assert locks._conn.info.transaction_status == idle


def test_a_lost_session_is_replaced(
    made: Callable[[], PostgresLocks], caplog: pytest.LogCaptureFixture
) -> None:
    locks, other = made(), made()
    assert locks.take(1)
    locks.give_back(1)
    _end(other, locks)
    assert locks.take(1), "nobody needed it when it ended"
    assert not caplog.text
    _end(other, locks)
    assert locks.take(2)
    assert "locks in the database of checkpoints failed" in caplog.text
    assert not other.take(2)


def test_no_limit_of_the_server_ends_a_session_that_holds_a_lock(postgres: Any) -> None:
    with psycopg.connect(postgres.new_database(), autocommit=True) as conn:
        limits = ["idle_in_transaction_session_timeout"]
        if conn.info.server_version >= 170000:
            limits.append("transaction_timeout")
        for limit in limits:
            conn.execute(f'ALTER DATABASE "{conn.info.dbname}" SET {limit} = 300')
        parameters = parameters_of(conn)
    assert parameters
    locks = PostgresLocks(parameters)
    assert locks.take(1)
    time.sleep(0.6)
    assert not PostgresLocks(parameters).take(1)


def test_a_server_that_does_not_answer_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    locks = PostgresLocks({"host": "/nowhere", "dbname": "none"})
    assert [locks.take(1), locks.take(2)] == [True, True]
    locks.give_back(1)
    assert caplog.text.count("locks in the database") == 1


def test_the_child_of_a_fork_leaves_the_parents_session(made: Callable[[], PostgresLocks]) -> None:
    locks = made()
    assert locks.take(1)
    pid = os.fork()
    if not pid:
        locks.abandon()
        taken = locks.take(1)
        del locks
        os._exit(int(taken))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "the parent has it"
    assert not made().take(1)
    locks.give_back(1)
    assert made().take(1)


def test_parameters_of_pools(postgres: Any) -> None:
    place = postgres.new_database()
    database = psycopg.conninfo.conninfo_to_dict(place)["dbname"]
    options = {"autocommit": True, "user": "tester"}
    with psycopg_pool.ConnectionPool(place, kwargs=options, min_size=1) as pool:
        found = parameters_of(pool)
        assert found
        assert (found["dbname"], found["user"]) == (database, "tester")
        assert PostgresLocks(found).take(1)
    with psycopg_pool.ConnectionPool(lambda: place, min_size=1) as pool:
        assert parameters_of(pool) is None
    conn = psycopg.connect(place)
    conn.close()
    assert parameters_of(conn) is None


def _end(admin: PostgresLocks, locks: PostgresLocks) -> None:
    """End a session, as a server does that restarts."""
    if admin._conn is None:
        assert admin.take(99)
    pid = locks._conn.info.backend_pid
    admin._conn.execute(f"SELECT pg_terminate_backend({pid})")
    until = time.monotonic() + 30
    look = f"SELECT 1 FROM pg_stat_activity WHERE pid = {pid}"
    while admin._conn.execute(look).fetchone():
        assert time.monotonic() < until
        time.sleep(0.01)
        # Within a transaction, which holds the locks, the first reading would be the only one.
        admin._conn.execute("SELECT pg_stat_clear_snapshot()")
