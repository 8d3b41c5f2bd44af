"""Kernels that are killed at any moment: a right result or a clear end, and nothing left over."""

from __future__ import annotations

import asyncio
import random

import psutil

from interpstack import InterpreterStack, Limits, Session
from interpstack_node.engine import NodeEngine
from interpstack_node.realm import NodeRealm

CELLS = 40


def _kernels() -> list[psutil.Process]:
    return psutil.Process().children()


async def _killing(session: Session, seed: int) -> None:
    chance = random.Random(seed)
    while True:
        await asyncio.sleep(chance.uniform(0.02, 0.2))
        realm = session._state.realm
        if isinstance(realm, NodeRealm) and realm._kernel is not None:
            realm._kernel.signal(9)


async def test_a_killed_kernel_costs_at_most_its_cell() -> None:
    before = {child.pid for child in _kernels()}
    engine = NodeEngine(prestarted=1)
    limits = Limits(cpu_seconds=30, wall_seconds=120)
    right = failed = 0
    with InterpreterStack(engine, limits=limits) as stack, stack.session() as session:
        await session.eval("let total = 0")
        killer = asyncio.create_task(_killing(session, seed=7))
        for _ in range(CELLS):
            outcome = await session.eval("total += 1; await null; total")
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
        assert final.text == str(right), final.error
    engine.close()
    assert right > 0
    assert right + failed == CELLS
    assert {child.pid for child in _kernels()} <= before
