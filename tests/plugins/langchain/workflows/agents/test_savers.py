"""Checkpointers of agents."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from stores import LASTING, Store

from interpstack_langchain.workflows import CheckpointWorkflowStore
from interpstack_langchain.workflows.agents.savers import AgentSaver, forget, saver_for
from interpstack_workflows.api import AgentCall, MemoryWorkflowStore, WorkflowRecord


def _config(thread: str = "t", space: str = "") -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space}}


async def _filled(saver: BaseCheckpointSaver[Any], space: str = "") -> Any:
    first = await saver.aput(_config(space=space), empty_checkpoint(), {"source": "input"}, {})
    second = {**first, "metadata": {"workflow_attempt": "1"}}
    config = await saver.aput(second, empty_checkpoint(), {"source": "loop"}, {})  # type: ignore[arg-type]
    await saver.aput_writes(config, [("c", {"v": 1})], "task")
    return config


@pytest.mark.parametrize("store", LASTING, indirect=True)
async def test_a_thread_of_an_agent_is_a_part_of_its_run(store: Store) -> None:
    async with store.open() as inner:
        runs = CheckpointWorkflowStore(inner)
        await runs.create(WorkflowRecord(id="run_1"))
        call = AgentCall(prompt="p", key="run_1/root/sig_1", store=runs)
        saver = saver_for(None, call, "t")
        other = saver_for(None, call, "t2")
        assert isinstance(saver, AgentSaver)
        assert other is not None
        for space in ("", "inner:1|more:2"):
            config = await _filled(saver, space)
            assert config["configurable"]["checkpoint_ns"] == space
            found = await saver.aget_tuple(_config(space=space))
            assert found is not None
            assert found.config["configurable"] == config["configurable"]
            assert found.parent_config is not None
            assert found.parent_config["configurable"]["thread_id"] == "t"
            assert found.pending_writes == [("task", "c", {"v": 1})]
            assert found.metadata["workflow_attempt"] == "1"  # type: ignore[typeddict-item]
            listed = [one async for one in saver.alist(_config(space=space))]
            assert listed[0].config == found.config
            assert len(listed) == 2
            before = [one async for one in saver.alist(_config(space=space), before=config)]
            assert len(before) == 1
        assert await other.aget_tuple(_config("t2")) is None
        assert [run.id for run in await runs.runs()] == ["run_1"]
        assert await runs.read("run_1") == WorkflowRecord(id="run_1")
        await runs.delete("run_1")
        assert await saver.aget_tuple(_config()) is None


def test_sync_graphs_inside_use_it_too() -> None:
    saver = AgentSaver(InMemorySaver(), "workflow:r", "a:")
    config = saver.put(_config(), empty_checkpoint(), {}, {})
    saver.put_writes(config, [("c", 1)], "task")
    found = saver.get_tuple(_config())
    assert found is not None
    assert found.pending_writes == [("task", "c", 1)]
    assert [one.config for one in saver.list(_config())] == [found.config]
    with pytest.raises(ValueError, match="name one"):
        list(saver.list(None))


async def test_the_graphs_own_checkpointer_comes_first(tmp_path: Path) -> None:
    from langgraph.checkpoint.sqlite import SqliteSaver

    own, call = InMemorySaver(), AgentCall(prompt="p", key="r/root/s", store=MemoryWorkflowStore())
    assert saver_for(own, call, "t") is own
    assert saver_for(False, call, "t") is None
    with SqliteSaver.from_conn_string(str(tmp_path / "own.db")) as sync:
        saver = saver_for(sync, call, "t")
        assert isinstance(saver, AgentSaver)
        assert saver.conn is sync.conn
        await _filled(saver)
        assert sync.get_tuple(_config()) is not None, "the thread is the graph's own"
        with pytest.raises(AttributeError):
            _ = saver._nothing


async def test_a_cancelled_call_leaves_no_thread_in_the_database(tmp_path: Path) -> None:
    from langgraph.checkpoint.sqlite import SqliteSaver

    begun, go, ended = threading.Event(), threading.Event(), threading.Event()

    class Slow(SqliteSaver):
        def get_tuple(self, config: Any) -> Any:
            begun.set()
            go.wait(30)
            ended.set()

    with Slow.from_conn_string(str(tmp_path / "own.db")) as slow:
        saver = saver_for(slow, AgentCall(prompt="p"), "t")
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


async def test_runs_in_memory_have_agents_in_memory() -> None:
    runs = MemoryWorkflowStore()
    call = AgentCall(prompt="p", key="r/root/s", store=runs)
    saver = saver_for(None, call, "t")
    assert saver is saver_for(None, call, "other")
    assert saver is not None
    await _filled(saver)
    forget(call, "t")
    assert await saver.aget_tuple(_config()) is None
    assert saver_for(None, AgentCall(prompt="p", key="r/root/s"), "t") is None
    assert saver_for(None, AgentCall(prompt="p", store=runs), "t") is None
    forget(AgentCall(prompt="p"), "t")
