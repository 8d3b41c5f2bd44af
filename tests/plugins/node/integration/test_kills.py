"""Kernels that are killed at any moment: a right result or a clear end, and nothing left over."""

from __future__ import annotations

import asyncio
import os
import random

import psutil
from kernels import has_ended

from interpstack import InterpreterStack, Limits, Session
from interpstack_node.engine import NodeEngine
from interpstack_node.realm import NodeRealm

#: All in the environment `node` of tox; a sample in the suite.
CELLS = 500 if os.environ.get("INTERPSTACK_LOAD") else 40
KILL_SECONDS = 0.05


def _kernels() -> list[psutil.Process]:
    return psutil.Process().children()


async def _killing(session: Session, seed: int) -> None:
    chance = random.Random(seed)
    while True:
        await asyncio.sleep(chance.uniform(0.5, 1.5) * KILL_SECONDS)
        realm = session._state.realm
        if isinstance(realm, NodeRealm) and realm._kernel is not None:
            realm._kernel.signal(9)


async def test_a_killed_kernel_costs_at_most_its_cell() -> None:
    before = {child.pid for child in _kernels()}
    engine = NodeEngine(prestarted=1)
    limits = Limits(cpu_seconds=30, wall_seconds=120)
    right = failed = 0
    lost = 0
    with InterpreterStack(engine, limits=limits) as stack, stack.session() as session:
        await session.eval("let total = 0; const add = () => { total += 1 }")
        killer = asyncio.create_task(_killing(session, seed=7))
        for _ in range(CELLS):
            outcome = await session.eval("total += 1; await null; total")
            lost += any("add" in notice for notice in outcome.notices)
            if outcome.error is None:
                right += 1
                assert outcome.text == str(right), "a cell was lost, or ran twice"
                continue
            failed += 1
            assert outcome.error.name == "EngineFailure", outcome.error
            assert outcome.state in ("kept", "undone")
        killer.cancel()
        await asyncio.gather(killer, return_exceptions=True)
        final = await session.eval("total")
        lost += any("add" in notice for notice in final.notices)  # the last kernel may be killed
        assert final.text == str(right), final.error
    engine.close()
    assert right > 0
    assert failed == 0 or lost > 0, "nobody was told that a function is lost"
    assert right + failed == CELLS
    started = {
        child.pid for child in _kernels()
    } - before  # one that was still to be a spare ends soon
    assert all(has_ended(pid) for pid in started)
