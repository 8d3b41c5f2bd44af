"""Stores of runs by their URL."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_state import sqlite
from interpstack_workflows.api import WorkflowRecord, open_store


async def test_memory() -> None:
    store = open_store("memory:")
    await store.create(WorkflowRecord(id="run_1"))
    assert len(await store.runs()) == 1
    assert not await open_store("memory:").runs()


@pytest.mark.parametrize("form", ["{path}", "sqlite:///{path}"])
async def test_a_path_is_a_database_of_sqlite(tmp_path: Path, form: str) -> None:
    url = form.format(path=tmp_path / "runs é.db")
    for number in range(2):
        store = open_store(url)
        await store.create(WorkflowRecord(id=f"run_{number}"))
        assert len(await store.runs()) == number + 1
        await store.aclose()
    with closing(sqlite3.connect(tmp_path / "runs é.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize("form", ["{path}", "sqlite:///{path}"])
def test_a_database_is_made_only_where_it_may_be(tmp_path: Path, form: str) -> None:
    path = tmp_path / "runs.db"
    with pytest.raises(
        ConfigurationError, match=r"database .*runs\.db not found\. A run creates it"
    ):
        open_store(form.format(path=path), create=False)
    assert not path.exists()


async def test_a_database_on_a_server(postgres: Any) -> None:
    place = postgres.new_database()
    import psycopg

    url = "postgresql:///?" + "&".join(
        f"{name}={value}" for name, value in psycopg.conninfo.conninfo_to_dict(place).items()
    )
    store = open_store(url)
    await store.create(WorkflowRecord(id="run_1"))
    assert await store.read("run_1") == WorkflowRecord(id="run_1")
    await store.aclose()


def test_processes_that_open_a_new_database_at_once_make_its_tables_once(tmp_path: Path) -> None:
    ready = threading.Barrier(4)

    def opened(_: int) -> Any:
        ready.wait()
        return open_store(str(tmp_path / "runs.db"))

    with ThreadPoolExecutor(4) as threads:
        stores = list(threads.map(opened, range(4)))
    for store in stores:
        asyncio.run(store.aclose())


def test_a_new_file_that_another_process_makes_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        done = threading.Timer(0.2, other.rollback)
        done.start()
        store = open_store(str(path))  # SQLite itself gives up at once here
        done.join()
    asyncio.run(store.aclose())


def test_a_file_that_somebody_locks_for_good_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE_SECONDS", 0.05)
    with closing(sqlite3.connect(tmp_path / "runs.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ConfigurationError, match=r"cannot be opened: .* database is locked"):
            open_store(str(tmp_path / "runs.db"))


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("this is no database at all, and long enough to be looked at " * 20, "utf-8")
    with pytest.raises(ConfigurationError, match=r"cannot be opened: .* file is not a database"):
        open_store(str(path))


def test_runs_of_a_development_version_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id)")
        connection.execute(
            "INSERT INTO checkpoints VALUES ('workflow:run_1', 'workflow_turns', 'workflow_turns')"
        )
        connection.commit()
    with pytest.raises(
        ConfigurationError, match=r"has runs of workflows in the form of a development version"
    ):
        open_store(str(path))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://x", "no store of states has the scheme 'mysql'; a URL begins with file:"),
        ("", "a store is named by memory:, a path, sqlite:///"),
        (5, "a store is named by memory:, a path, sqlite:///"),
        ("redis://x", "a RedisStore cannot keep runs: it has no logs and inboxes; a store is"),
        ("file:runs", "a FileStore cannot keep runs: it has no logs and inboxes; a store is"),
        (
            "/no/such/folder/a.db",
            r"there is no folder '/no/such/folder'; make it",
        ),
        ("postgresql://u:secret@127.0.0.1:9/d", r"cannot be opened: .*127\.0\.0\.1.*port 9"),
    ],
)
def test_other_stores_are_refused(url: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as raised:
        open_store(url)
    assert "secret" not in str(raised.value)


def test_only_a_file_that_is_missing_is_one_that_a_run_creates() -> None:
    with pytest.raises(ConfigurationError, match="no store of states has the scheme") as refused:
        open_store("mysql://x", create=False)
    assert "A run creates it" not in str(refused.value)
