"""Kernels that are started ahead, and how many stay alive."""

from __future__ import annotations

import asyncio
import select
import time
from pathlib import Path

import attrs
import pytest

from interpstack import EngineFailure, InterpreterStack, Session
from interpstack_javascript.node_runtime import find_node
from interpstack_node.engine import NodeEngine
from interpstack_node.kernels.pool import KernelPool
from interpstack_node.kernels.process import KernelProcess
from interpstack_node.kernels.starting.launch import KernelConfig


def _config(memory_bytes: int | None = None) -> KernelConfig:
    return KernelConfig(
        node=find_node().path,
        memory_bytes=memory_bytes,
        most_bytes=2**20,
        grace_seconds=1.0,
        idle_seconds=None,
    )


def test_a_kernel_that_was_started_ahead_is_taken() -> None:
    pool, config = KernelPool(8, 2), _config()
    pool.start_ahead(config)
    first, second = pool.take(config), pool.take(config)
    assert {first, second} == {first, second}
    pool.start_ahead(config)
    spares = [pool.take(config), pool.take(config)]
    for kernel in (first, second, *spares):
        assert kernel.alive
        kernel.close()
    pool.close()


def test_one_with_other_limits_is_not() -> None:
    pool = KernelPool(8, 1)
    pool.start_ahead(_config())
    kernel = pool.take(_config(64 * 2**20))
    assert kernel.config.memory_bytes == 64 * 2**20
    kernel.close()
    pool.start_ahead(_config())
    dead = pool._spares[0]
    pool.start_ahead(_config(64 * 2**20))
    assert not dead.alive
    pool.close()


def test_one_that_has_ended_is_not() -> None:
    pool, config = KernelPool(8, 1), _config()
    pool.start_ahead(config)
    pool._spares[0].signal(9)
    pool._spares[0]._process.wait()
    kernel = pool.take(config)
    assert kernel.alive
    kernel.close()
    pool.close()


async def test_the_session_used_longest_ago_gives_its_kernel_up() -> None:
    engine = NodeEngine(kernels=2, prestarted=0)
    with InterpreterStack(engine) as stack:
        sessions: list[Session] = [stack.session(str(number)) for number in range(4)]
        for number, session in enumerate(sessions):
            assert (await session.eval(f"const n = {number}; const f = () => n; f()")).ok
            assert engine.pool.resident <= 2
        for number, session in enumerate(sessions):
            outcome = await session.eval("n")
            assert outcome.text == str(number)
            assert engine.pool.resident <= 2
            assert ("without a value, and so lost: f" in "".join(outcome.notices)) is True
        lost = await sessions[3].eval("f()")
        assert lost.error is not None
        assert "was not restored because" in lost.error.message
    assert engine.pool.resident == 0
    engine.close()


async def test_the_context_of_a_guest_is_made_ahead() -> None:
    with InterpreterStack(NodeEngine(prestarted=1), ["console"]) as stack:
        assert isinstance(stack.engine, NodeEngine)
        await stack.session("first").eval("1")
        spare = await _spare(stack.engine.pool)
        assert select.select([spare.connection], [], [], 60)[0]  # it answers without a command
        session = stack.session("second")
        assert await session.names() == []
        outcome = await session.eval("[import.meta.url, +setTimeout(() => 0)]")
        assert outcome.text == '["interpstack:.interpstack_cell_1.mjs", 1]'
        assert spare.alive
        assert spare not in stack.engine.pool._spares
        stack.engine.close()


async def _spare(pool: KernelPool) -> KernelProcess:
    ends = time.monotonic() + 60
    while not pool._spares:
        assert time.monotonic() < ends
        await asyncio.sleep(0.02)
    return pool._spares[0]


def test_a_start_behind_that_fails_is_reported_when_a_kernel_is_needed(tmp_path: Path) -> None:
    pool = KernelPool(8, 1)
    config = attrs.evolve(_config(), node=str(tmp_path / "absent"))
    pool.start_behind(config)
    with pytest.raises(EngineFailure, match="no kernel process can be started"):
        pool.take(config)
    pool.close()
