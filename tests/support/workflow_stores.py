"""What every store of workflows has to do; a test module passes its own fixture `store`."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest

from interpstack_workflows.api import LeaseLost, UnknownRun, WorkflowError
from interpstack_workflows.steps.entries import Entry, StepRecord
from interpstack_workflows.stores.records import Message, WorkflowRecord
from interpstack_workflows.stores.store import TakenRun, WorkflowStore

__all__ = ["StoreTests"]


def entry(number: int, value: Any = None) -> Entry:
    step = StepRecord(name=f"sig_{number}", kind="agent", value=value, usage={"agents": 1})
    return Entry(scope="root", now=float(number), settled=(step,), budget={"spent": number})


def _running(run: WorkflowRecord) -> WorkflowRecord:
    return attrs.evolve(run, status="running", wake_at=None)


class StoreTests:
    """Tests of a store; subclasses have a fixture `store`."""

    async def test_a_run_is_stored(self, store: WorkflowStore) -> None:
        run = WorkflowRecord(
            id="run_1",
            name="n",
            source="s",
            args={"a": [1, None, "\ud800", 2**60]},
            metadata={"name": "n"},
            status="waiting",
            wake_at=5.5,
            waiting_for=({"kind": "ask"},),
            error={"message": "é"},
            created=3.0,
        )
        assert await store.read("run_1") is None
        await store.create(run)
        assert await store.read("run_1") == run
        with pytest.raises(WorkflowError, match="there is a run 'run_1' already"):
            await store.create(run)

    async def test_one_of_many_makers_makes_a_run(self, store: WorkflowStore) -> None:
        makers = [store.create(WorkflowRecord(id="run_1", args=n, created=n)) for n in range(8)]
        ends = await asyncio.gather(*makers, return_exceptions=True)
        (made,) = [number for number, end in enumerate(ends) if end is None]
        record = await store.read("run_1")
        assert record is not None
        assert record.args == made
        refused = [end for end in ends if end is not None]
        assert all("there is a run 'run_1' already" in str(end) for end in refused)

    async def test_a_runner_changes_its_run(self, store: WorkflowStore) -> None:
        run = WorkflowRecord(id="run_1")
        await store.create(run)
        lease = (await store.take("run_1", "me", 60)).lease
        assert lease is not None
        changed = attrs.evolve(run, status="completed", result={"r": 1}, version=1)
        await store.update(changed, lease)
        assert await store.read("run_1") == changed

    async def test_runs_are_listed_the_newest_first(self, store: WorkflowStore) -> None:
        for number in range(5):
            status: Any = "waiting" if number % 2 else "failed"
            await store.create(WorkflowRecord(id=f"run_{number}", created=number, status=status))
        listed = [run.id for run in await store.runs()]
        assert listed == ["run_4", "run_3", "run_2", "run_1", "run_0"]
        assert [run.id for run in await store.runs("waiting")] == ["run_3", "run_1"]
        assert [run.id for run in await store.runs(limit=2)] == ["run_4", "run_3"]
        assert list(await store.runs("cancelled")) == []

    async def test_entries_keep_their_order(self, store: WorkflowStore) -> None:
        await store.create(WorkflowRecord(id="run_1"))
        lease = (await store.take("run_1", "me", 60)).lease
        assert lease is not None
        await store.append("run_1", 0, [entry(0, {"t": "\ud800 é \x00"})], lease)
        await store.append("run_1", 1, [entry(number) for number in range(1, 40)], lease)
        stored = list(await store.entries("run_1"))
        assert stored == [entry(0, {"t": "\ud800 é \x00"}), *map(entry, range(1, 40))]

    async def test_an_entry_has_its_place(self, store: WorkflowStore) -> None:
        await store.create(WorkflowRecord(id="run_1"))
        lease = (await store.take("run_1", "me", 60)).lease
        assert lease is not None
        await store.append("run_1", 0, [entry(0)], lease)
        for index in (0, 2):
            with pytest.raises((WorkflowError, LeaseLost)):
                await store.append("run_1", index, [entry(9)], lease)
        assert list(await store.entries("run_1")) == [entry(0)]

    async def test_one_runner_at_a_time(self, store: WorkflowStore) -> None:
        await store.create(WorkflowRecord(id="run_1"))
        first = (await store.take("run_1", "a", 60)).lease
        assert first is not None
        assert first.run_id == "run_1"
        assert first.token.startswith("a/")
        assert (await store.take("run_1", "b", 60)).lease is None
        await store.release(first)
        second = (await store.take("run_1", "b", 60)).lease
        assert second is not None
        assert second.token != first.token

    async def test_only_one_of_many_gets_the_lease(self, store: WorkflowStore) -> None:
        await store.create(WorkflowRecord(id="run_1"))
        takes = [store.take("run_1", f"r{number}", 60) for number in range(8)]
        leases = [taken.lease for taken in await asyncio.gather(*takes) if taken.lease is not None]
        assert len(leases) == 1

    async def test_a_lease_that_ran_out_passes_on(self, store: WorkflowStore) -> None:
        await store.create(WorkflowRecord(id="run_1"))
        lost = (await store.take("run_1", "a", 0.05)).lease
        assert lost is not None
        await asyncio.sleep(0.1)
        lease = (await store.take("run_1", "b", 60)).lease
        assert lease is not None
        assert await store.renew(lost) is None
        with pytest.raises(LeaseLost, match="another runner has claimed the run 'run_1'"):
            await store.append("run_1", 0, [entry(0)], lost)
        with pytest.raises(LeaseLost, match="another runner has claimed"):
            await store.update(WorkflowRecord(id="run_1", status="failed"), lost)
        await store.release(lost)
        assert (await store.take("run_1", "c", 60)).lease is None
        await store.append("run_1", 0, [entry(0)], lease)
        assert list(await store.entries("run_1")) == [entry(0)]

    async def test_a_lease_ends_with_its_run(self, store: WorkflowStore) -> None:
        await store.create(WorkflowRecord(id="run_1"))
        lost = (await store.take("run_1", "a", 60)).lease
        assert lost is not None
        await store.delete("run_1")
        await store.create(WorkflowRecord(id="run_1", name="another"))
        lease = (await store.take("run_1", "b", 60)).lease
        assert lease is not None
        assert await store.renew(lost) is None
        with pytest.raises(LeaseLost, match="another runner has claimed"):
            await store.update(WorkflowRecord(id="run_1", status="failed"), lost)
        await store.update(WorkflowRecord(id="run_1", status="running"), lease)

    async def test_a_lease_is_prolonged(self, store: WorkflowStore) -> None:
        await store.create(WorkflowRecord(id="run_1"))
        lease = (await store.take("run_1", "a", 0.4)).lease
        assert lease is not None
        for _ in range(3):
            await asyncio.sleep(0.2)
            renewed = await store.renew(lease)
            assert renewed is not None
            assert renewed.until > lease.until
        assert (await store.take("run_1", "b", 60)).lease is None

    async def test_a_run_is_taken_with_everything_of_it(self, store: WorkflowStore) -> None:
        await store.create(run := WorkflowRecord(id="run_1", status="waiting", wake_at=5.0))
        lease = (await store.take("run_1", "a", 60)).lease
        assert lease is not None
        await store.append("run_1", 0, [entry(0), entry(1)], lease)
        await store.send("run_1", signal := Message(kind="signal", name="s"))
        await store.release(lease)
        taken = await store.take("run_1", "b", 60, _running)
        assert taken.lease is not None
        assert taken.lease.token != lease.token
        assert list(taken.entries) == [entry(0), entry(1)]
        assert list(taken.messages) == [(1, signal)]
        assert taken.record == _running(run) == await store.read("run_1")
        assert (await store.take("run_1", "c", 60)).lease is None
        await store.append("run_1", 2, [entry(2)], taken.lease)

    async def test_a_run_that_another_runner_has_is_not_taken(self, store: WorkflowStore) -> None:
        await store.create(run := WorkflowRecord(id="run_1", status="waiting"))
        assert (await store.take("run_1", "a", 60)).lease is not None
        taken = await store.take("run_1", "b", 60, _running)
        assert taken == TakenRun(record=run, held_until=taken.held_until)
        assert taken.held_until
        assert (await store.take("run_1", "c", 60)).held_until == taken.held_until
        assert await store.read("run_1") == run
        with pytest.raises(UnknownRun, match="there is no run 'run_9'"):
            await store.take("run_9", "b", 60, _running)

    async def test_only_one_of_many_takes_a_run(self, store: WorkflowStore) -> None:
        await store.create(WorkflowRecord(id="run_1"))
        takes = [store.take("run_1", f"r{number}", 60, _running) for number in range(8)]
        taken = [one for one in await asyncio.gather(*takes) if one.lease is not None]
        assert len(taken) == 1

    async def test_a_run_that_cannot_begin_is_not_claimed(self, store: WorkflowStore) -> None:
        def broken(run: WorkflowRecord) -> WorkflowRecord:
            raise ValueError(run.id)

        await store.create(WorkflowRecord(id="run_1"))
        with pytest.raises(ValueError, match="run_1"):
            await store.take("run_1", "a", 60, broken)
        assert (await store.take("run_1", "b", 60)).lease is not None

    async def test_a_run_is_left_with_its_record(self, store: WorkflowStore) -> None:
        await store.create(run := WorkflowRecord(id="run_1"))
        lease = (await store.take("run_1", "a", 60, _running)).lease
        assert lease is not None
        ended = attrs.evolve(run, status="completed", result=[1])
        await store.leave(ended, lease)
        assert await store.read("run_1") == ended
        assert (await store.take("run_1", "b", 60)).lease is not None
        with pytest.raises(LeaseLost, match="another runner has claimed"):
            await store.leave(run, lease)
        assert await store.renew(lease) is None
        assert await store.read("run_1") == ended

    async def test_messages_keep_their_order(self, store: WorkflowStore) -> None:
        await store.create(WorkflowRecord(id="run_1"))
        sent = [
            Message(kind="signal", name="s", value={"n": 1}),
            Message(kind="answer", id="a", value="yes"),
            Message(kind="cancel"),
        ]
        for message in sent:
            await store.send("run_1", message)
        received = list(await store.messages("run_1", 0))
        assert [message for _, message in received] == sent
        numbers = [number for number, _ in received]
        assert numbers == sorted(set(numbers))
        assert list(await store.messages("run_1", numbers[1])) == received[2:]

    async def test_a_lease_is_for_one_run(self, store: WorkflowStore) -> None:
        for run_id in ("a", "b"):
            await store.create(WorkflowRecord(id=run_id))
        lease = (await store.take("a", "one", 60)).lease
        assert lease is not None
        with pytest.raises(WorkflowError, match=r"the lease is for the run 'a', not for 'b'"):
            await store.append("b", 0, [Entry(scope="root", now=1.0)], lease)
        with pytest.raises(WorkflowError, match=r"the lease is for the run 'a', not for 'b'"):
            await store.update(WorkflowRecord(id="b", status="running"), lease)
        for run_id in ("a", "b"):
            assert await store.read(run_id) == WorkflowRecord(id=run_id)
            assert not await store.entries(run_id)

    async def test_all_messages_come_after_any_lower_number(self, store: WorkflowStore) -> None:
        await store.create(WorkflowRecord(id="a"))
        await store.send("a", Message(kind="wake"))
        assert await store.messages("a", -5) == await store.messages("a", 0)
        assert [number for number, _ in await store.messages("a", -5)] == [1]

    async def test_messages_that_are_sent_at_once(self, store: WorkflowStore) -> None:
        await store.create(WorkflowRecord(id="run_1"))
        sent = [Message(kind="signal", name=f"s{number}") for number in range(10)]
        await asyncio.gather(*(store.send("run_1", message) for message in sent))
        received = await store.messages("run_1", 0)
        assert {message.name for _, message in received} == {message.name for message in sent}
        assert len({number for number, _ in received}) == 10

    async def test_runs_that_nobody_made(self, store: WorkflowStore) -> None:
        with pytest.raises(UnknownRun, match="there is no run 'run_9'"):
            await store.send("run_9", Message(kind="wake"))
        with pytest.raises(UnknownRun, match="there is no run 'run_9'"):
            await store.take("run_9", "a", 1)

    async def test_a_deleted_run_cannot_be_read(self, store: WorkflowStore) -> None:
        await store.create(WorkflowRecord(id="run_1"))
        await store.create(WorkflowRecord(id="run_10"))
        lease = (await store.take("run_1", "a", 60)).lease
        assert lease is not None
        await store.append("run_1", 0, [entry(0)], lease)
        await store.delete("run_1")
        await store.delete("run_1")
        assert await store.read("run_1") is None
        assert [run.id for run in await store.runs()] == ["run_10"]
        await store.create(WorkflowRecord(id="run_1"))
        assert list(await store.entries("run_1")) == []
        assert (await store.take("run_1", "b", 60)).lease is not None
