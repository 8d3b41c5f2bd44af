"""Checkpointers of agents."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from workflow_runs import MemoryRuns

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals import saver_classes
from interpstack_langchain.workflows.agents import savers
from interpstack_langchain.workflows.agents.savers import RUN, AgentSaver, AgentStates, saver_for
from interpstack_langchain.workflows.agents.threads import thread_of
from interpstack_state import (
    EncryptedStateStore,
    MemoryStore,
    PostgresStore,
    SQLiteStore,
    StateStore,
)
from interpstack_workflows.api import AgentCall, WorkflowRecord, WorkflowStore


def _config(thread: str = "t", space: str = "") -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space}}


async def _filled(
    saver: BaseCheckpointSaver[Any], run: str = "r", thread: str = "t", space: str = ""
) -> Any:
    about: Any = {"source": "input", RUN: run}
    first = await saver.aput(_config(thread, space), empty_checkpoint(), about, {})
    config = await saver.aput(first, empty_checkpoint(), {**about, "source": "loop"}, {})
    await saver.aput_writes(config, [("c", {"v": 1})], "task")
    return config


def _states(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> StateStore:
    if name == "memory":
        return MemoryStore()
    if name == "postgres":
        return PostgresStore(request.getfixturevalue("postgres").new_database(), space="workflows")
    return SQLiteStore(tmp_path / "runs.db", space="workflows")


@pytest.mark.parametrize("name", ["memory", "sqlite", "postgres"])
async def test_threads_of_agents_are_beside_the_store_and_go_with_their_run(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    runs = WorkflowStore(_states(name, request, tmp_path))
    savers = []
    for run in ("run_1", "run_2"):
        await runs.create(WorkflowRecord(id=run))
        call = AgentCall(prompt="p", key="/".join((run, "root", "sig_1")), store=runs)
        saver = await saver_for(None, call)
        assert isinstance(saver, AgentSaver)
        savers.append(saver)
        for space in ("", "inner:1|more:2"):
            config = await _filled(saver, run, thread_of(call), space)
            found = await saver.aget_tuple(_config(thread_of(call), space))
            assert found is not None
            assert found.config["configurable"] == config["configurable"]
            assert found.pending_writes == [("task", "c", {"v": 1})]
            listed = [one async for one in saver.alist(_config(thread_of(call), space))]
            assert listed[0].config == found.config
            assert len(listed) == 2
            before = saver.alist(_config(thread_of(call), space), before=config)
            assert len([one async for one in before]) == 1
    assert [run.id for run in await runs.runs()] == ["run_2", "run_1"]
    await runs.delete("run_1")
    for space in ("", "inner:1|more:2"):
        assert await savers[0].aget_tuple(_config("workflow:run_1/root/sig_1", space)) is None
        assert await savers[1].aget_tuple(_config("workflow:run_2/root/sig_1", space)) is not None
    await runs.aclose()


async def test_threads_of_agents_are_found_by_another_process(tmp_path: Path) -> None:
    call = AgentCall(prompt="p", key="run_1/root/sig_1")
    for turn in range(2):
        runs = WorkflowStore(SQLiteStore(tmp_path / "runs.db", space="workflows"))
        saver = await saver_for(None, attrs.evolve(call, store=runs))
        assert saver is not None
        if turn == 0:
            await _filled(saver, "run_1", "t")
        assert await saver.aget_tuple(_config("t")) is not None
        await runs.aclose()
    again = WorkflowStore(SQLiteStore(tmp_path / "runs.db", space="workflows"))
    await again.delete("run_1")  # of a process that has not called an agent
    saver = await saver_for(None, attrs.evolve(call, store=again))
    assert saver is not None
    assert await saver.aget_tuple(_config("t")) is None
    await again.aclose()


async def test_an_encrypted_store_keeps_no_plain_threads(tmp_path: Path) -> None:
    state = EncryptedStateStore(SQLiteStore(tmp_path / "runs.db"), b"k" * 32)
    call = AgentCall(prompt="p", key="run_1/root/sig_1", store=WorkflowStore(state))
    assert await saver_for(None, call) is None


def test_sync_graphs_inside_use_it_too() -> None:
    saver = AgentSaver(InMemorySaver())
    config = saver.put(_config(), empty_checkpoint(), {}, {})
    saver.put_writes(config, [("c", 1)], "task")
    found = saver.get_tuple(_config())
    assert found is not None
    assert found.pending_writes == [("task", "c", 1)]
    assert [one.config for one in saver.list(_config())] == [found.config]


async def test_the_graphs_own_checkpointer_comes_first(tmp_path: Path) -> None:
    call = AgentCall(prompt="p", key="r/root/s", store=MemoryRuns())
    own = await saver_for(InMemorySaver(), call)
    assert own is not None
    config = await _filled(own)
    own.forget("t")
    assert await own.aget_tuple(config) is not None, "it is not ours to forget"
    assert await saver_for(False, call) is None
    with SqliteSaver.from_conn_string(str(tmp_path / "own.db")) as sync:
        saver = await saver_for(sync, call)
        assert isinstance(saver, AgentSaver)
        assert saver.conn is sync.conn
        await _filled(saver)
        assert sync.get_tuple(_config()) is not None, "the thread is the graph's own"
        with pytest.raises(AttributeError):
            _ = saver._nothing


async def test_a_cancelled_call_leaves_no_thread_in_the_database(tmp_path: Path) -> None:
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()

    class Slow(SqliteSaver):
        def get_tuple(self, config: Any) -> Any:
            begun.set()
            go.wait(30)
            ended.set()

    with Slow.from_conn_string(str(tmp_path / "own.db")) as slow:
        saver = await saver_for(slow, AgentCall(prompt="p"))
        assert isinstance(saver, AgentSaver)
        task = asyncio.create_task(saver.aget_tuple(_config()))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        ending = asyncio.create_task(saver.end())
        await asyncio.sleep(0.01)
        assert not ending.done()
        go.set()
        await ending
        assert ended.is_set()
        with pytest.raises(RuntimeError, match="the call of the agent has ended"):
            await saver.aget_tuple(_config())
        with pytest.raises(RuntimeError, match="the call of the agent has ended"):
            saver.get_tuple(_config())


async def test_runs_in_memory_forget_agents_that_have_ended() -> None:
    runs = MemoryRuns()
    call = AgentCall(prompt="p", key="r/root/s", store=runs)
    saver = await saver_for(None, call)
    assert saver is not None
    await _filled(saver)
    other = await saver_for(None, call)
    assert other is not None
    assert await other.aget_tuple(_config()) is not None
    saver.forget("t")
    assert await other.aget_tuple(_config()) is None
    assert await saver_for(None, AgentCall(prompt="p", key="r/root/s")) is None
    assert await saver_for(None, AgentCall(prompt="p", store=runs)) is None


def test_processes_that_make_the_tables_at_once_make_them_once(
    postgres: Any, tmp_path: Path
) -> None:
    for state in (
        PostgresStore(postgres.new_database(), space="workflows"),
        SQLiteStore(tmp_path / "runs.db", space="workflows"),
    ):
        ready = threading.Barrier(4)

        def opened(_: int, state: Any = state, ready: Any = ready) -> Any:
            ready.wait()
            return AgentStates.beside(state)

        with ThreadPoolExecutor(4) as threads:
            made = list(threads.map(opened, range(4)))
        for one in made:
            asyncio.run(one.aclose())


def test_a_file_that_somebody_locks_for_good_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(savers, "_BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(tmp_path / "runs.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="database is locked"):
            AgentStates.beside(SQLiteStore(tmp_path / "runs.db"))


@pytest.mark.parametrize("state", [SQLiteStore("x"), PostgresStore("x")])
def test_a_package_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, state: StateStore
) -> None:
    def absent(module: str) -> Any:
        raise ImportError(f"No module named {module!r}")

    monkeypatch.setattr(saver_classes, "import_module", absent)
    with pytest.raises(ConfigurationError, match="run: pip install langgraph-checkpoint-"):
        AgentStates.beside(state)
