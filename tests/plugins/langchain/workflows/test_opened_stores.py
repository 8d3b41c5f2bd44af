"""Stores with connections of their own: when they write at once, and when their thread does."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from workflow_stores import entry as stored_entry

from interpstack_langchain.langgraph_internals.sqlite_writes import SqliteWrites
from interpstack_langchain.workflows import opened_stores
from interpstack_langchain.workflows.databases import open_postgres, open_sqlite
from interpstack_langchain.workflows.opened_stores import OpenedPostgresStore, SqliteStore
from interpstack_workflows.api import (
    Entry,
    Lease,
    StepRecord,
    WorkflowError,
    WorkflowRecord,
    WorkflowStore,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[WorkflowStore]:
    opened = open_sqlite(str(path))
    yield opened
    await opened.aclose()


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads that wrote, in order."""
    seen: list[str] = []

    def note(owner: type, name: str) -> None:
        write = getattr(owner, name)

        def noted(self: Any, *rest: Any) -> Any:
            told = write(self, *rest)
            is_own = threading.current_thread().name.startswith("interpstack-workflows")
            seen.append("thread" if is_own else "loop")
            return told

        monkeypatch.setattr(owner, name, noted)

    note(SqliteSaver, "put_writes")
    note(SqliteWrites, "add")
    return seen


async def _append(store: WorkflowStore, index: int, entry: Entry, lease: Lease) -> None:
    """Append an entry as a run does."""
    if not store.append_now("run", index, [entry], lease):
        await store.append("run", index, [entry], lease)


async def _begun(store: WorkflowStore) -> Lease:
    await store.create(WorkflowRecord(id="run"))
    lease = await store.claim("run", "me", 60)
    assert lease is not None
    return lease


def _entry(value: Any) -> Entry:
    return Entry(scope="root", now=1.0, settled=(StepRecord(name="step", value=value),))


async def test_short_records_are_written_at_once_and_long_ones_by_the_thread(
    store: WorkflowStore, path: Path, writers: list[str]
) -> None:
    assert isinstance(store, SqliteStore)
    lease = await _begun(store)
    writers.clear()
    entries = [_entry("short"), _entry("long " * 10_000), _entry("short again")]
    for number, entry in enumerate(entries):
        await _append(store, number, entry, lease)
    assert writers == ["loop", "thread", "loop"]
    other = open_sqlite(str(path))  # another process would see the same
    assert await other.entries("run") == entries
    await other.aclose()


async def test_nothing_waits_on_the_loop_while_another_connection_writes(
    store: WorkflowStore, path: Path, writers: list[str]
) -> None:
    lease = await _begun(store)
    writers.clear()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    append = asyncio.create_task(_append(store, 0, _entry(1), lease))
    await asyncio.sleep(0.1)  # the loop goes on
    assert not append.done()
    assert writers == []
    other.execute("COMMIT")
    other.close()
    await append
    assert writers == ["thread"]
    assert await store.entries("run") == [_entry(1)]


async def test_the_log_of_a_long_run_is_moved_to_the_database(
    store: WorkflowStore, path: Path, writers: list[str]
) -> None:
    lease = await _begun(store)
    for number in range(1500):
        await _append(store, number, _entry("x" * 1000), lease)
    assert writers.count("thread") >= 5
    sizes = [os.path.getsize(f"{path}{end}") for end in ("", "-wal")]  # noqa: ASYNC240, PTH202
    assert sizes[0] > 2**20
    assert sizes[1] < 12 * 2**20
    assert len(await store.entries("run")) == 1500


async def test_a_database_without_a_log_has_its_thread_alone(writers: list[str]) -> None:
    store = open_sqlite(":memory:")
    lease = await _begun(store)
    await _append(store, 0, _entry(1), lease)
    assert await store.entries("run") == [_entry(1)]
    assert set(writers) == {"thread"}
    await store.aclose()


async def test_what_is_written_at_once_is_under_a_valid_lease_and_in_order(
    store: WorkflowStore, path: Path
) -> None:
    lease = await _begun(store)
    assert store.append_now("run", 0, [_entry(0)], lease)
    assert not store.append_now("run", 2, [_entry(2)], lease)
    assert not store.append_now("other", 1, [_entry(1)], lease)
    lapsed = Lease("run", "me", lease.token, 0.0)
    assert not store.append_now("run", 1, [_entry(1)], lapsed)
    other = open_sqlite(str(path))
    assert await other.entries("run") == [_entry(0)]
    await other.aclose()


async def test_a_table_of_another_form_is_left_to_the_checkpointer(
    path: Path, writers: list[str]
) -> None:
    await open_sqlite(str(path)).aclose()
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE writes ADD COLUMN more TEXT")
    connection.close()
    store = open_sqlite(str(path))
    lease = await _begun(store)
    await _append(store, 0, _entry(1), lease)
    assert await store.entries("run") == [_entry(1)]
    assert set(writers) == {"thread"}
    await store.aclose()


async def test_a_closed_store_says_so(store: WorkflowStore) -> None:
    lease = await _begun(store)
    await store.aclose()
    await store.aclose()
    assert not store.append_now("run", 0, [_entry(1)], lease)
    for used in (store.append("run", 0, [_entry(1)], lease), store.read("run")):
        with pytest.raises(WorkflowError, match="was closed"):
            await used


async def test_all_reads_and_writes_of_a_store_need_one_thread(store: WorkflowStore) -> None:
    await _begun(store)
    before = threading.active_count()
    await asyncio.gather(*(store.read("run") for _ in range(50)))
    assert threading.active_count() == before


def _break_connections(place: str) -> None:
    """Do to the connections of a database what a restart of its server does."""
    import psycopg

    with psycopg.connect(place, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.parametrize("use", ["read", "write"])
async def test_a_server_that_was_restarted_is_connected_again(postgres: Any, use: str) -> None:
    place = postgres.new_database()
    opened = open_postgres(place)
    await opened.create(WorkflowRecord(id="run_1"))
    lease = await opened.claim("run_1", "me", 600)
    assert lease is not None
    _break_connections(place)
    if use == "write":
        await opened.append("run_1", 0, [stored_entry(0)], lease)
    assert len(await opened.entries("run_1")) == (1 if use == "write" else 0)
    assert await opened.renew(lease, 600)
    await opened.aclose()


async def test_a_server_that_starts_is_waited_for(
    postgres: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = postgres.new_database()
    opened = open_postgres(place)
    assert isinstance(opened, OpenedPostgresStore)
    await opened.create(WorkflowRecord(id="run_1"))
    connect, tries = opened._connect, list[str]()

    def starting() -> Any:
        tries.append("try")
        if len(tries) < 3:
            raise ConnectionError("the database system is starting up")
        return connect()

    monkeypatch.setattr(opened, "_connect", starting)
    monkeypatch.setattr(opened_stores, "_RESTART_SECONDS", 60)
    _break_connections(place)
    assert await opened.read("run_1") == WorkflowRecord(id="run_1")
    assert len(tries) == 3
    monkeypatch.setattr(opened_stores, "_RESTART_SECONDS", 0)
    tries.clear()
    _break_connections(place)
    with pytest.raises(WorkflowError, match="with AdminShutdown: terminating connection"):
        await opened.read("run_1")
    with pytest.raises(WorkflowError, match="with ConnectionError: the database system is start"):
        await opened.read("run_1")
    monkeypatch.setattr(opened, "_connect", connect)
    assert await opened.read("run_1") == WorkflowRecord(id="run_1")
    with pytest.raises(WorkflowError, match="there is a run 'run_1' already"):
        await opened.create(WorkflowRecord(id="run_1"))  # no fault of the connection
    await opened.aclose()
