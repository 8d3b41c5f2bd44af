"""Leases that were seen for their whole time."""

from __future__ import annotations

import attrs
import pytest

from interpstack_workflows.runs.keeping import watching
from interpstack_workflows.runs.keeping.watching import LeaseWatch, is_doubtful
from interpstack_workflows.stores.memory import MemoryWorkflowStore
from interpstack_workflows.stores.store import Lease, WorkflowRecord, WorkflowStore

LEASE = Lease("run_1", "other", 1, until=100.0, seconds=5.0)


def test_a_lease_has_lapsed_once_it_stayed_unchanged_for_its_time() -> None:
    now = [0.0]
    watch = LeaseWatch(10.0, clock=lambda: now[0])
    watch.see("run_1", LEASE)
    now[0] = 4.9
    watch.see("run_1", LEASE)
    assert watch.lapsed("run_1") is None
    now[0] = 5.0
    assert watch.lapsed("run_1") == LEASE
    renewed = attrs.evolve(LEASE, until=105.0)
    watch.see("run_1", renewed)
    assert watch.lapsed("run_1") is None
    now[0] = 10.0
    assert watch.lapsed("run_1") == renewed
    watch.see("run_1", None)
    assert watch.lapsed("run_1") is None


def test_a_lease_of_unknown_length_lasts_as_long_as_an_own_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watching, "_MOST", 2)
    now = [0.0]
    watch = LeaseWatch(10.0, clock=lambda: now[0])
    for run_id in ("a", "b", "c"):  # the number of leases that are remembered is bounded
        watch.see(run_id, attrs.evolve(LEASE, seconds=0.0))
    now[0] = 9.9
    assert watch.lapsed("c") is None
    now[0] = 10.0
    assert [watch.lapsed(run_id) is not None for run_id in ("a", "b", "c")] == [False, True, True]


class _Silent(MemoryWorkflowStore):
    """A store that takes runs as the contract does by itself: it tells of no lease of others."""

    take = WorkflowStore.take


async def test_a_store_that_tells_of_no_lease_is_asked_as_ever() -> None:
    store = _Silent(clock=lambda: 0.0)
    await store.create(WorkflowRecord(id="run_1"))
    watch = LeaseWatch(10.0)
    first = await watch.take(store, "run_1", "one", lambda record: record)
    assert first.lease is not None
    second = await watch.take(store, "run_1", "two", lambda record: record)
    assert (second.lease, second.held, watch.lapsed("run_1")) == (None, None, None)


def test_a_lease_that_ended_and_was_not_renewed_leaves_a_doubt() -> None:
    assert is_doubtful(LEASE, LEASE, 100.0)
    assert not is_doubtful(LEASE, LEASE, 99.0)
    assert not is_doubtful(attrs.evolve(LEASE, until=99.0), LEASE, 100.0)
    assert not is_doubtful(None, LEASE, 100.0)
