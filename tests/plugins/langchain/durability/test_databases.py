"""Databases: the same for all checkpointers on one place, and runs of one eval at a time."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import stores
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from interpstack_langchain.durability import databases
from interpstack_langchain.durability.databases import open_database


@pytest.mark.parametrize("store", stores.LASTING, indirect=True)
async def test_checkpointers_on_one_place_share_its_database(store: Any) -> None:
    async with (
        store.open() as first,
        store.open() as second,
        open_database(first) as one,
        open_database(second) as other,
    ):
        assert one is other
        assert one.locks is not None
    assert not any(known.users for known in databases._known.values())


async def test_places_are_distinguished(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        savers: list[Any] = [InMemorySaver(), InMemorySaver()]
        for place in (":memory:", ":memory:", str(tmp_path / "a.db"), str(tmp_path / "b.db")):
            savers.append(await stack.enter_async_context(stores.open_saver("sqlite", place)))
        found = [await stack.enter_async_context(open_database(saver)) for saver in savers]
        assert len({id(one) for one in found}) == len(savers)
        assert [one.locks is None for one in found] == [True] * 4 + [False] * 2


async def test_paths_of_one_file_are_one_database(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    async with (
        stores.open_saver("sqlite", str(tmp_path / "a.db")) as first,
        stores.open_saver("sqlite-async", str(tmp_path / "link" / "a.db")) as second,
        open_database(first) as one,
        open_database(second) as other,
    ):
        assert one is other


async def test_a_connection_of_another_thread_is_a_database_of_its_own(tmp_path: Path) -> None:
    saver = SqliteSaver(sqlite3.connect(tmp_path / "a.db"))  # bound to this thread
    async with open_database(saver) as found:
        assert found.locks is None
    saver.conn.close()
    async with open_database(saver) as found:
        assert found.locks is None


async def test_one_run_at_a_time_and_the_later_one_knows(tmp_path: Path) -> None:
    answers: list[tuple[str, bool]] = []
    running = 0

    async def run(saver: Any, name: str) -> None:
        nonlocal running
        async with open_database(saver) as database, database.alone("eval") as waited:
            running += 1
            assert running == 1
            answers.append((name, waited))
            await asyncio.sleep(0.05)
            running -= 1

    async with (
        stores.open_saver("sqlite", str(tmp_path / "a.db")) as first,
        stores.open_saver("sqlite", str(tmp_path / "a.db")) as second,
    ):
        await asyncio.gather(run(first, "first"), run(second, "second"))
        await run(second, "third")
    assert sorted(waited for _, waited in answers) == [False, False, True]
    assert answers[2] == ("third", False)


async def test_a_database_without_runs_is_forgotten_but_for_calls_that_were_left() -> None:
    saver = InMemorySaver()
    async with open_database(saver) as database:
        database.leave("eval", "a run")
    async with open_database(saver) as again:
        assert again is database
        assert again.follow("eval", "the next run") == "a run"
        assert again.follow("other", "a run") is None
        again.left.clear()
    async with open_database(saver) as new:
        assert new is not database
    assert len(databases._known) <= databases._MAX_IDLE
