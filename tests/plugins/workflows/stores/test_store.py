"""Runs in stores of states of every kind, for runners of several processes."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest
from workflow_runs import Prompts, runner, script, until
from workflow_stores import StoreTests, entry

from interpstack import ConfigurationError
from interpstack_state import (
    EncryptedStateStore,
    FileStore,
    MemoryStore,
    PostgresStore,
    SQLiteStore,
    StateStore,
)
from interpstack_workflows.api import (
    Lease,
    LeaseLost,
    Message,
    RunCompanion,
    WorkflowError,
    WorkflowRecord,
    WorkflowStore,
)
from interpstack_workflows.stores import companions
from interpstack_workflows.stores.store import TakenRun


@pytest.fixture
def state(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StateStore]:
    """The store of states that a test's parameter names."""
    made: StateStore = MemoryStore()
    if request.param == "postgres":
        dsn = request.getfixturevalue("postgres").new_database()
        made = PostgresStore(dsn, space="workflows")
    elif request.param != "memory":
        made = SQLiteStore(tmp_path / "runs.db", space="workflows", flushes=False)
    if request.param == "encrypted":
        made = EncryptedStateStore(made, b"k" * 32)
    yield made
    made.close()


@pytest.fixture
async def store(state: StateStore) -> AsyncIterator[WorkflowStore]:
    opened = WorkflowStore(state)
    yield opened
    await opened.aclose()


every_store = pytest.mark.parametrize(
    "state", ["memory", "sqlite", "encrypted", "postgres"], indirect=True
)
both_databases = pytest.mark.parametrize("state", ["sqlite", "postgres"], indirect=True)


@every_store
class TestStores(StoreTests):
    """The contract of stores."""


_AHEAD = 3600.0


class _Renewing(WorkflowStore):
    """A store that counts how often leases were renewed."""

    renewals = 0

    async def renew(self, lease: Lease) -> Lease | None:
        renewed = await super().renew(lease)
        self.renewals += 1
        return renewed


@every_store
async def test_a_runner_whose_clock_is_ahead_leaves_live_runs_to_their_owners(
    state: StateStore,
) -> None:
    owner, other = Prompts(), Prompts()
    mine = _Renewing(state)
    late = WorkflowStore(state, clock=lambda: time.time() + _AHEAD)
    late_runner = runner(other, late, clock=lambda: time.time() + _AHEAD)
    async with runner(owner, mine, lease_seconds=2.0) as one, late_runner as two:
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


@every_store
async def test_the_run_of_a_runner_that_died_is_taken_over_after_the_time_of_its_lease(
    state: StateStore,
) -> None:
    agent, dead = Prompts(), WorkflowStore(state)
    source = script("return agent('a')")
    await dead.create(WorkflowRecord(id="run_1", name="tested", source=source, status="running"))
    taken = await dead.take("run_1", "dead", 0.3)
    assert taken.lease is not None
    assert taken.lease.seconds == 0.3
    async with runner(agent, WorkflowStore(state)) as one:
        result = await (await one.resume("run_1")).result()
    assert (result.result, agent.called) == ("echo: a", ["a"])


@every_store
async def test_entries_of_a_runner_that_lost_its_lease_are_refused(store: WorkflowStore) -> None:
    await store.create(WorkflowRecord(id="run_1"))
    slow = (await store.take("run_1", "slow", 0)).lease
    quick = (await store.take("run_1", "quick", 60)).lease
    assert slow is not None
    assert quick is not None
    await store.append("run_1", 0, [entry(21)], quick)
    for index in (0, 1):
        with pytest.raises(LeaseLost, match="another runner has claimed the run 'run_1'"):
            await store.append("run_1", index, [entry(11), entry(12)], slow)
    assert [one.now for one in await store.entries("run_1")] == [21.0]


@every_store
async def test_an_append_whose_answer_was_lost_is_made_once(store: WorkflowStore) -> None:
    await store.create(WorkflowRecord(id="run_1"))
    lease = (await store.take("run_1", "me", 60)).lease
    assert lease is not None
    for _ in range(2):
        await store.append("run_1", 0, [entry(1), entry(2)], lease)
    with pytest.raises(WorkflowError, match="has 2 entries, so the next one is 2, not 0"):
        await store.append("run_1", 0, [entry(1), entry(3)], lease)
    assert [one.now for one in await store.entries("run_1")] == [1.0, 2.0]


_CLAIM = """
import asyncio, sys
from interpstack_workflows.api import open_store

async def main():
    store = open_store(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    lease = (await store.take("run_1", sys.argv[2], float(sys.argv[3]))).lease
    print("claimed" if lease else "refused", flush=True)
    sys.stdin.readline()

asyncio.run(main())
"""


def _claimer(path: Path, name: str, seconds: float = 60) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _CLAIM, str(path), name, str(seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def _claim(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def _said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = process.stdout.readline()
    process.kill()
    process.communicate()
    return said


def _runs(path: Path) -> WorkflowStore:
    return WorkflowStore(SQLiteStore(path, space="workflows"))


async def test_one_of_several_processes_gets_the_lease(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = _runs(path)
    await store.create(WorkflowRecord(id="run_1"))
    processes = [_claimer(path, f"p{number}") for number in range(3)]
    for process in processes:
        _claim(process)
    said = [_said(process) for process in processes]
    assert sorted(said) == ["claimed\n", "refused\n", "refused\n"]
    await store.aclose()


async def test_the_lease_of_a_killed_process_passes_on_when_its_time_is_over(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    store = _runs(path)
    await store.create(WorkflowRecord(id="run_1"))
    process = _claimer(path, "dying", 3.0)
    _claim(process)
    assert _said(process) == "claimed\n"
    taken = await store.take("run_1", "next", 60)
    assert (taken.lease, taken.held_until is not None) == (None, True)
    while taken.lease is None:
        await asyncio.sleep(0.1)
        taken = await store.take("run_1", "next", 60)
    await store.aclose()


@every_store
async def test_two_event_loops_use_one_store(store: WorkflowStore) -> None:
    await store.create(WorkflowRecord(id="run_1"))
    read = await asyncio.to_thread(lambda: asyncio.run(store.read("run_1")))
    assert read == WorkflowRecord(id="run_1")


# -- damage ------------------------------------------------------------------------------------

_DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "text", ["{", "NaN", "[]", _DEEP, "{}", '{"id": "run_2"}', '{"id": "run_1", "status": "?"}']
)
async def test_a_damaged_record_says_so(text: str) -> None:
    state = MemoryStore()
    store = WorkflowStore(state)
    state.create("run_1", text.encode())
    for use in (store.read("run_1"), store.take("run_1", "me", 9)):
        with pytest.raises(WorkflowError, match="the record of the run 'run_1' is damaged"):
            await use
    state.claim("run_1", "other", 1)  # it was not left claimed


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "NaN",
        "[]",
        _DEEP,
        '{"form": 9, "scope": "root", "now": 1, "settled": []}',
        '{"form": 1, "scope": "root", "now": 1, "settled": [], "budget": {"spent": "x"}}',
    ],
)
async def test_damaged_entries_are_refused(text: str) -> None:
    state = MemoryStore()
    store = WorkflowStore(state)
    await store.create(WorkflowRecord(id="run_1"))
    state.claim("run_1", "me", 0)
    state.append("run_1", "me", 0, [text])
    for use in (store.entries("run_1"), store.take("run_1", "me", 9)):
        with pytest.raises(WorkflowError, match=r"run 'run_1'.*(is damaged|cannot be read)"):
            await use
    state.claim("run_1", "other", 1)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"kind": "other"}',
        '{"kind": "wake", "to": 1}',
        '{"kind": "wake", "name": 1}',
        '{"kind": "wake", "id": 1}',
    ],
)
async def test_damaged_messages_are_refused(text: str) -> None:
    state = MemoryStore()
    store = WorkflowStore(state)
    await store.create(WorkflowRecord(id="run_1"))
    state.send("run_1", text)
    for use in (store.messages("run_1", 0), store.take("run_1", "me", 9)):
        with pytest.raises(WorkflowError, match="a message is malformed"):
            await use
    state.claim("run_1", "other", 1)


async def test_a_damaged_run_hides_no_other_and_can_be_deleted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    state = MemoryStore()
    store = WorkflowStore(state)
    await store.create(WorkflowRecord(id="run_2"))
    state.create("run_1", b'{"id": "run_2"}', label="pending")
    assert [run.id for run in await store.runs()] == ["run_2"]
    assert "the record of the run 'run_1' is damaged: it is that of the run 'run_2'" in caplog.text
    await store.delete("run_1")
    assert await store.read("run_1") is None


async def test_a_database_that_is_damaged_is_an_error_of_the_store(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = _runs(path)
    await store.create(WorkflowRecord(id="run_1"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE interpstack_states SET data = 'text'")
        connection.commit()
    for use in (store.read("run_1"), store.take("run_1", "me", 9)):
        with pytest.raises(WorkflowError, match="cannot be read: state 'run_1' is damaged"):
            await use
    await store.aclose()
    path.write_bytes(b"no database at all " * 1000)
    with pytest.raises(WorkflowError, match="cannot be used: file is not a database"):
        await _runs(path).read("run_1")


@pytest.mark.parametrize("wrong", ["a.db", None, FileStore("sessions")])
def test_it_takes_stores_of_states(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="a WorkflowStore takes a StateStore"):
        WorkflowStore(wrong)


# -- closing, threads and servers --------------------------------------------------------------


@every_store
async def test_a_closed_store_says_so(state: StateStore) -> None:
    store = WorkflowStore(state)
    await store.create(WorkflowRecord(id="run_1"))
    await store.aclose()
    await store.aclose()
    for use in (store.read("run_1"), store.runs(), store.send("run_1", Message(kind="wake"))):
        with pytest.raises(WorkflowError, match="was closed; open it again"):
            await use


async def test_nothing_waits_on_the_loop_while_another_connection_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = _runs(path)
    await store.create(WorkflowRecord(id="run_1"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        sending = asyncio.create_task(store.send("run_1", Message(kind="wake")))
        await asyncio.sleep(0.1)  # the loop goes on
        assert not sending.done()
        other.execute("COMMIT")
    await sending
    assert len(await store.messages("run_1", 0)) == 1
    await store.aclose()


async def test_all_reads_and_writes_of_a_file_need_one_thread(tmp_path: Path) -> None:
    store = _runs(tmp_path / "a.db")
    await store.create(WorkflowRecord(id="run_1"))
    before = set(threading.enumerate())
    await asyncio.gather(*(store.read("run_1") for _ in range(50)))
    assert set(threading.enumerate()) <= before
    await store.aclose()


def _break_connections(dsn: str) -> None:
    """Do to the connections of a database what a restart of its server does."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


async def test_a_server_that_was_restarted_is_connected_again(postgres: Any) -> None:
    dsn = postgres.new_database()
    store = WorkflowStore(PostgresStore(dsn, space="workflows"))
    await store.create(WorkflowRecord(id="run_1"))
    lease = (await store.take("run_1", "me", 600)).lease
    assert lease is not None
    _break_connections(dsn)
    await store.append("run_1", 0, [entry(0)], lease)
    _break_connections(dsn)
    assert len(await store.entries("run_1")) == 1
    _break_connections(dsn)
    assert await store.renew(lease) is not None
    await store.aclose()


# -- companions --------------------------------------------------------------------------------


class _Companion(RunCompanion):
    """Records its calls."""

    def __init__(self, state: StateStore) -> None:
        self.state, self.calls = state, list[str]()

    async def delete(self, run_id: str) -> None:
        self.calls.append(f"delete {run_id}")

    async def aclose(self) -> None:
        self.calls.append("close")


@attrs.frozen
class _Point:
    name: str
    made: Any

    def load(self) -> Any:
        if isinstance(self.made, Exception):
            raise self.made
        return self.made


def _unmade(state: StateStore) -> RunCompanion:
    raise ConfigurationError("run: pip install more")


async def test_data_of_other_packages_beside_a_run_is_deleted_with_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    points = [
        _Point("lacks", _unmade),
        _Point("mine", _Companion),
        _Point("none", lambda state: None),
        _Point("absent", ModuleNotFoundError("No module named 'extra'")),
    ]
    monkeypatch.setattr(
        companions,
        "entry_points",
        lambda group, name=None: [one for one in points if name in (None, one.name)],
    )
    state = MemoryStore()
    store = WorkflowStore(state)
    found = await store.companions.get("mine")
    assert isinstance(found, _Companion)
    assert found.state is state
    assert await store.companions.get("mine") is found
    assert [await store.companions.get(name) for name in ("none", "absent", "other")] == [None] * 3
    await store.create(WorkflowRecord(id="run_1"))
    await store.delete("run_1")
    await store.aclose()
    assert found.calls == ["delete run_1", "close"]
    (message,) = caplog.messages
    assert message == "the data of 'lacks' beside run run_1 is not deleted: run: pip install more"


async def test_agents_that_begin_together_share_a_companion_which_is_closed_with_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[_Companion] = []
    all_ask, cancelled = threading.Barrier(2), threading.Event()

    def slow(state: StateStore) -> RunCompanion:
        all_ask.wait(10)
        made.append(_Companion(state))
        cancelled.wait(10)
        return made[-1]

    monkeypatch.setattr(companions, "entry_points", lambda group, name=None: [_Point("mine", slow)])
    store = WorkflowStore(MemoryStore())
    asking = [asyncio.ensure_future(store.companions.get("mine")) for _ in range(3)]
    await asyncio.to_thread(all_ask.wait, 10)
    asking[0].cancel()
    await asyncio.wait(asking[:1])
    cancelled.set()
    found = await asyncio.gather(*asking[1:])
    await store.aclose()
    assert found == made * 2
    assert [one.calls for one in made] == [["close"]]


async def test_a_run_that_was_taken_begins_as_it_is(tmp_path: Path) -> None:
    store = _runs(tmp_path / "a.db")
    run = WorkflowRecord(id="run_1", status="waiting")
    await store.create(run)
    taken = await store.take("run_1", "me", 60)
    assert taken == TakenRun(record=run, lease=taken.lease, entries=[], messages=[])
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        rows = connection.execute("SELECT space, key, label, data FROM interpstack_states")
        ((space, key, label, data),) = rows.fetchall()
    assert (space, key, label) == ("workflows", "run_1", "waiting")
    assert json.loads(data)["status"] == "waiting"
    await store.aclose()
