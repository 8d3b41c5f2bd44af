"""Stores on databases."""

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
from interpstack_langchain.langgraph_internals import saver_classes
from interpstack_langchain.workflows import databases
from interpstack_langchain.workflows.databases import open_postgres, open_sqlite
from interpstack_workflows.api import WorkflowRecord


async def test_sqlite_keeps_runs_over_processes(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    store = open_sqlite(str(path))
    await store.create(WorkflowRecord(id="run_1"))
    await store.aclose()
    with sqlite3.connect(path) as connection:
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    connection.close()
    assert mode == "wal"
    again = open_sqlite(f"sqlite:///{path}")
    assert await again.read("run_1") == WorkflowRecord(id="run_1")
    await again.aclose()


def test_a_new_file_that_another_process_makes_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        done = threading.Timer(0.2, other.rollback)
        done.start()
        store = open_sqlite(str(path))  # SQLite itself gives up at once here
        done.join()
    asyncio.run(store.aclose())


def test_a_file_that_somebody_locks_for_good_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "_BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(tmp_path / "runs.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ConfigurationError, match="cannot be opened: database is locked"):
            open_sqlite(str(tmp_path / "runs.db"))


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("this is no database at all, and long enough to be looked at " * 20, "utf-8")
    with pytest.raises(ConfigurationError, match="cannot be opened: file is not a database"):
        open_sqlite(str(path))
    with pytest.raises(ConfigurationError, match="cannot be opened: unable to open"):
        open_sqlite(str(tmp_path))


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_postgres(store: Any) -> None:
    opened = open_postgres(store.place)
    await opened.delete("run_pg")
    await opened.create(WorkflowRecord(id="run_pg"))
    assert await opened.read("run_pg") == WorkflowRecord(id="run_pg")
    await opened.delete("run_pg")
    await opened.aclose()


def test_processes_that_open_a_new_database_at_once_make_its_tables_once(postgres: Any) -> None:
    place = postgres.new_database()
    ready = threading.Barrier(4)

    def opened(_: int) -> Any:
        ready.wait()
        return open_postgres(place)

    with ThreadPoolExecutor(4) as threads:
        stores = list(threads.map(opened, range(4)))
    for store in stores:
        asyncio.run(store.aclose())


@pytest.mark.parametrize("opener", [open_sqlite, open_postgres])
def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, opener: Any) -> None:
    def absent(module: str) -> Any:
        raise ImportError(f"No module named {module!r}")

    monkeypatch.setattr(saver_classes, "import_module", absent)
    with pytest.raises(ConfigurationError, match="run: pip install langgraph-checkpoint-"):
        opener("x")
