"""Drawn workflows, interrupted at random moments, end as if they had not been."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from workflow_cases import WorkflowCase, draw_case, drawn_agent
from workflow_runs import MemoryRuns, runner, spent

from interpstack_workflows.runs.runner import RunHandle
from interpstack_workflows.runs.values import WorkflowResult
from interpstack_workflows.steps.entries import Entry
from interpstack_workflows.stores.store import Lease


class _SlowStore(MemoryRuns):
    """A store whose writes take a while, so that runs are left in the middle of them."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random

    async def append(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> None:
        await asyncio.sleep(self._random.random() * 0.002)
        await super().append(run_id, index, entries, lease)


async def _recorded(store: MemoryRuns) -> set[str]:
    """Prompts of the agents whose ends are recorded."""
    entries = await store.entries("run_a")
    steps = [step for entry in entries for step in entry.settled]
    ended = [step for step in steps if step.kind == "agent" and not step.started]
    return {json.loads(step.signature)["prompt"] for step in ended}


async def _activation(
    case: WorkflowCase, store: MemoryRuns, random: Random, seconds: float | None
) -> tuple[WorkflowResult | None, list[str]]:
    """Run one activation; return its result, if it came, and the agents called."""
    called: list[str] = []
    agent = drawn_agent(called.append, 0.001)
    linger = random.choice([0.0, 0.01, 1.0])
    async with runner(agent, store, workflows=case.workflows, linger_seconds=linger) as one:
        handle: RunHandle
        if await store.read("run_a") is None:
            handle = await one.start(case.source, 1, seed=7, run_id="run_a")
        else:
            handle = await one.resume("run_a")
        try:
            return await asyncio.wait_for(handle.result(), seconds), called
        except TimeoutError:
            return None, called


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_interrupted_runs_end_alike_call_once_and_count_once(seed: int) -> None:
    asyncio.run(_interrupted(seed))


async def _interrupted(seed: int) -> None:
    random, case = Random(seed), draw_case(seed)
    expected, called = await _activation(case, _SlowStore(random), random, 30.0)
    assert expected is not None
    assert expected.status == "completed"
    assert sorted(called) == sorted(set(called))
    store = _SlowStore(random)
    found: WorkflowResult | None = None
    finished: set[str] = set()
    patience = 0.03
    while found is None:
        found, called = await _activation(case, store, random, random.random() * patience)
        assert not finished & set(called), "an agent that had ended was called again"
        finished = await _recorded(store)
        patience *= 1.2
    outcome: list[Any] = [found.result, spent(found)]
    assert outcome == [expected.result, spent(expected)]
