"""Runs of workflows in checkpointers of every kind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from workflow_runs import Prompts, runner, script, until
from workflow_stores import StoreTests, entry

from interpstack import ConfigurationError
from interpstack_langchain.workflows.checkpoint_store import CheckpointWorkflowStore
from interpstack_workflows.api import Lease, LeaseLost, WorkflowError, WorkflowRecord, WorkflowStore


@pytest.mark.parametrize(
    "store",
    ["memory-async", "sqlite", "sqlite-async", "postgres", "postgres-async"],
    indirect=True,
)
class TestCheckpointers(StoreTests):
    @pytest.fixture(name="store")
    async def _store(self, store: Any) -> AsyncIterator[WorkflowStore]:
        async with store.open() as saver:
            for listed in ["run_1", "run_10", *(f"run_{number}" for number in range(5))]:
                await CheckpointWorkflowStore(saver).delete(listed)
            yield CheckpointWorkflowStore(saver)


both_databases = pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
_AHEAD = 3600.0


class _Renewing(CheckpointWorkflowStore):
    """A store that counts how often leases were renewed."""

    renewals = 0

    async def renew(self, lease: Lease, seconds: float) -> bool:
        renewed = await super().renew(lease, seconds)
        self.renewals += 1
        return renewed


@both_databases
async def test_a_runner_whose_clock_is_ahead_leaves_live_runs_to_their_owners(store: Any) -> None:
    owner, other = Prompts(), Prompts()
    async with store.open() as saver:
        mine = _Renewing(saver)
        late = CheckpointWorkflowStore(saver, clock=lambda: time.time() + _AHEAD)
        late_runner = runner(other, late, clock=lambda: time.time() + _AHEAD)
        async with runner(owner, mine, lease_seconds=1.0) as one, late_runner as two:
            # Between two renewals passes less than the time of a lease, however busy the machine.
            two._keeper._watch.clock = lambda: 0.7 * mine.renewals
            handle = await one.start(script("await agent('a'); return agent('for ever b')"))
            await until(lambda: len(owner.called) == 2)
            serving = asyncio.ensure_future(two.serve(poll_seconds=0.01))
            refused = await two.resume(handle.run_id, wait=False)
            with pytest.raises(LeaseLost, match="Another runner works on run"):
                await refused.result()
            changed = script("await agent('a'); return agent('c')")
            with pytest.raises(LeaseLost, match="cancel it, then change it"):
                await two.resume(handle.run_id, source=changed, accept_changes=True)
            seen = mine.renewals
            await until(lambda: mine.renewals > seen + 3, seconds=120)
            assert (other.called, owner.stopped) == ([], [])
            serving.cancel()
            await one.cancel(handle.run_id)
            assert (await handle.result()).status == "cancelled"


@both_databases
async def test_the_run_of_a_runner_that_died_is_taken_over_after_the_time_of_its_lease(
    store: Any,
) -> None:
    agent = Prompts()
    async with store.open() as saver:
        dead = CheckpointWorkflowStore(saver)
        await dead.delete("run_1")
        source = script("return agent('a')")
        await dead.create(
            WorkflowRecord(id="run_1", name="tested", source=source, status="running")
        )
        lease = await dead.claim("run_1", "dead", 0.3)
        assert lease is not None
        assert lease.seconds == 0.3
        async with runner(agent, CheckpointWorkflowStore(saver)) as one:
            result = await (await one.resume("run_1")).result()
        assert (result.result, agent.called) == ("echo: a", ["a"])


@both_databases
async def test_a_run_that_was_given_back_is_taken_at_once(store: Any) -> None:
    async with store.open() as saver:
        first, second = CheckpointWorkflowStore(saver), CheckpointWorkflowStore(saver)
        await first.delete("run_1")
        await first.create(WorkflowRecord(id="run_1"))
        taken = await first.take("run_1", "one", 60, lambda record: record)
        assert taken.lease is not None
        await first.release(taken.lease)
        again = await second.take("run_1", "two", 0, lambda record: record)
        assert again.lease is not None
        doubtful = await first.take("run_1", "three", 60, lambda record: record)
        assert (doubtful.lease, doubtful.held) == (None, again.lease)
        other = attrs.evolve(again.lease, owner="one")
        assert (await first.take("run_1", "three", 60, lambda r: r, lapsed=other)).lease is None
        own = await second.take("run_1", "two", 0, lambda record: record)
        assert own.lease is not None
        over = await first.take("run_1", "three", 60, lambda r: r, lapsed=own.lease)
        assert over.lease is not None


def sqlite(path: Path) -> Any:
    return SqliteSaver.from_conn_string(str(path))


async def test_entries_of_a_runner_that_lost_its_lease_do_not_count(tmp_path: Path) -> None:
    now = [100.0]
    with sqlite(tmp_path / "a.db") as saver:
        store = CheckpointWorkflowStore(saver, clock=lambda: now[0])
        await store.create(WorkflowRecord(id="run_1"))
        slow = await store.claim("run_1", "slow", 10)
        assert slow is not None
        await store.append("run_1", 0, [entry(0)], slow)
        now[0] = 200.0
        other = CheckpointWorkflowStore(saver, clock=lambda: now[0])
        quick = await other.claim("run_1", "quick", 10)
        assert quick is not None
        now[0] = 105.0  # the slow one's clock stands still: it does not notice
        await store.append("run_1", 1, [entry(11), entry(12), entry(13)], slow)
        now[0] = 201.0
        await other.append("run_1", 1, [entry(21)], quick)
        await other.append("run_1", 2, [entry(22)], quick)
        read = await other.entries("run_1")
        assert [one.now for one in read] == [0.0, 21.0, 22.0]


async def test_what_was_written_before_the_next_runner_began_counts(tmp_path: Path) -> None:
    now = [100.0]
    with sqlite(tmp_path / "a.db") as saver:
        store = CheckpointWorkflowStore(saver, clock=lambda: now[0])
        await store.create(WorkflowRecord(id="run_1"))
        first = await store.claim("run_1", "first", 10)
        assert first is not None
        await store.append("run_1", 0, [entry(0), entry(1)], first)
        now[0] = 200.0
        second = await store.claim("run_1", "second", 10)
        assert second is not None
        assert len(await store.entries("run_1")) == 2
        await store.append("run_1", 2, [entry(2)], second)
        assert [one.now for one in await store.entries("run_1")] == [0.0, 1.0, 2.0]


_CLAIM = """
import asyncio, sys
from langgraph.checkpoint.sqlite import SqliteSaver
from interpstack_langchain.workflows.checkpoint_store import CheckpointWorkflowStore

async def main():
    with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
        store = CheckpointWorkflowStore(saver)
        print("ready", flush=True)
        sys.stdin.readline()
        lease = await store.claim("run_1", sys.argv[2], 60)
        print("claimed" if lease else "refused", flush=True)
        sys.stdin.readline()

asyncio.run(main())
"""


def _claimer(path: Path, name: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _CLAIM, str(path), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


async def test_one_of_several_processes_gets_the_lease(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite(path) as saver:
        await CheckpointWorkflowStore(saver).create(WorkflowRecord(id="run_1"))
    processes = [_claimer(path, f"p{number}") for number in range(3)]
    said = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        assert process.stdout is not None
        said.append(process.stdout.readline())
        process.kill()
        process.communicate()
    assert sorted(said) == ["claimed\n", "refused\n", "refused\n"]


async def test_the_lease_of_a_killed_process_passes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite(path) as saver:
        store = CheckpointWorkflowStore(saver)
        await store.create(WorkflowRecord(id="run_1"))
        process = _claimer(path, "dying")
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        process.kill()
        process.communicate()
        assert await store.claim("run_1", "next", 60) is None
        later = CheckpointWorkflowStore(saver, clock=lambda: 1e11)
        lease = await later.claim("run_1", "next", 60)
        assert lease is not None
        assert lease.token == 2


async def test_two_event_loops_use_one_store(tmp_path: Path) -> None:
    with sqlite(tmp_path / "a.db") as saver:
        store = CheckpointWorkflowStore(saver)
        await store.create(WorkflowRecord(id="run_1"))
        read = await asyncio.to_thread(lambda: asyncio.run(store.read("run_1")))
        assert read == WorkflowRecord(id="run_1")


async def test_a_damaged_record_says_so() -> None:
    saver = InMemorySaver()
    store = CheckpointWorkflowStore(saver)
    await store.create(WorkflowRecord(id="run_1"))
    lease = await store.claim("run_1", "me", 60)
    assert lease is not None
    await store._write("run_1", "workflow_entries", [("workflow", "{")], "0000000000-00000001")
    with pytest.raises(WorkflowError, match="the record of the run 'run_1' is damaged"):
        await store.entries("run_1")
    await store._put("run_1", "", "00000000000000000000", "[]", {})
    with pytest.raises(WorkflowError, match="the record of the run 'run_1' is damaged"):
        await store.read("run_1")


async def test_a_damaged_run_hides_no_other_and_can_be_deleted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = CheckpointWorkflowStore(InMemorySaver())
    for name in ("run_1", "run_2"):
        await store.create(WorkflowRecord(id=name))
    about = {"interpstack_workflow": "run", "status": "pending"}
    await store._put("run_1", "", "00000000000000000000", '{"id": "run_2"}', about)
    assert [run.id for run in await store.runs()] == ["run_2"]
    assert "the record of the run 'run_1' is damaged: it is that of the run 'run_2'" in caplog.text
    await store.delete("run_1")
    assert await store.read("run_1") is None


@pytest.mark.parametrize("column", ["checkpoint", "metadata"])
async def test_a_checkpoint_that_cannot_be_read_is_an_error_of_the_store(
    tmp_path: Path, column: str
) -> None:
    with sqlite(tmp_path / "a.db") as saver:
        store = CheckpointWorkflowStore(saver)
        await store.create(WorkflowRecord(id="run_1"))
        saver.conn.execute(f"UPDATE checkpoints SET {column} = X'C1'")
        for use in (store.read("run_1"), store.runs(), store.claim("run_1", "me", 9)):
            with pytest.raises(WorkflowError, match=r"cannot be (read|listed): the checkpointer"):
                await use
        await store.delete("run_1")
        assert await store.runs() == []


def test_it_takes_checkpointers() -> None:
    with pytest.raises(ConfigurationError, match="takes a checkpointer, such as SqliteSaver"):
        CheckpointWorkflowStore("a.db")  # type: ignore[arg-type]


class _Dying(CheckpointWorkflowStore):
    """A store whose process ends before it puts the record of a new run."""

    async def _put_run(self, run: WorkflowRecord) -> None:
        raise ZeroDivisionError


@both_databases
async def test_a_run_whose_maker_stopped_can_be_resumed_and_deleted(store: Any) -> None:
    async with store.open() as saver:
        for end in ("resumed", "deleted"):
            run_id = f"run_{end}"
            with pytest.raises(ZeroDivisionError):
                async with runner(Prompts(), _Dying(saver)) as dying:
                    await dying.start(script("return agent('a')"), run_id=run_id)
            kept = CheckpointWorkflowStore(saver)
            async with runner(Prompts(), kept) as later:
                with pytest.raises(WorkflowError, match=f"there is a run '{run_id}' already"):
                    await later.start(script("return agent('b')"), run_id=run_id)
                if end == "deleted":
                    await kept.delete(run_id)
                    handle = await later.start(script("return agent('b')"), run_id=run_id)
                    assert (await handle.result()).result == "echo: b"
                else:
                    result = await (await later.resume(run_id)).result()
                    assert (result.status, result.result) == ("completed", "echo: a")
                assert run_id in [run.id for run in await kept.runs()]
