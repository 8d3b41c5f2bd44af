"""Tests of interpstack_ray.pool: growth, drain, bounds; with actors of no cluster."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest
from fake_ray import FakeRay

from interpstack import ConfigurationError, InterpreterStack

Make = Callable[..., InterpreterStack]


def _pool(stack: InterpreterStack) -> Any:
    engine: Any = stack.engine
    return engine.pool


async def test_the_pool_grows_with_the_load_and_sessions_move(make: Make) -> None:
    stack = make(options={"max_actors": 3}, max_live_sessions=32)
    sessions = [stack.session(str(number)) for number in range(24)]

    async def work(session: Any) -> str:
        text = ""
        for _ in range(8):
            outcome = await session.eval(
                "globalThis.n = (globalThis.n ?? 0) + 1; for (let i = 0; i < 1e5; i++); n"
            )
            assert outcome.error is None, outcome.error
            text = outcome.text
        return text

    assert set(await asyncio.gather(*map(work, sessions))) == {"8"}
    actors = _pool(stack).actors
    assert 2 <= len(actors) <= 3
    assert sum(bool(actor.realms) for actor in actors) >= 2
    assert sum(len(actor.realms) for actor in actors) == 24
    assert not any(actor.cells for actor in actors)


async def test_an_actor_without_work_is_drained_and_loses_nothing(make: Make, until: Any) -> None:
    stack = make(options={"min_actors": 2, "max_actors": 2, "idle_seconds": 0.3})
    sessions = [stack.session(str(number)) for number in range(6)]
    for session in sessions:
        await session.eval(f"let own = {session.key}")
    pool = _pool(stack)
    assert len(pool.actors) == 2
    pool._size = type(pool._size)(least=1, most=2, cells=256, idle_seconds=0.3)
    await asyncio.to_thread(until, lambda: len(pool.actors) == 1)
    assert [(await session.eval("own")).text for session in sessions] == list("012345")


async def test_an_actor_whose_cell_waits_is_not_ended(make: Make, until: Any) -> None:
    stack = make(options={"min_actors": 2, "max_actors": 2, "idle_seconds": 0.2})
    sessions = [stack.session(str(number)) for number in range(6)]
    waiting = [
        asyncio.ensure_future(session.eval("await kit.echo({value: 1, seconds: 1.5})"))
        for session in sessions
    ]
    await asyncio.sleep(0.7)
    pool = _pool(stack)
    pool._size = type(pool._size)(least=1, most=2, cells=256, idle_seconds=0.2)
    outcomes = await asyncio.gather(*waiting)
    assert [(one.text, one.error) for one in outcomes] == [("1", None)] * 6
    await asyncio.to_thread(until, lambda: len(pool.actors) == 1)


async def test_a_cell_that_finds_no_place_is_refused_with_the_time_to_wait(make: Make) -> None:
    stack = make(options={"max_actors": 1, "actor_cells": 2})
    busy = [
        asyncio.ensure_future(stack.session(name).eval("await kit.echo({value: 1, seconds: 2})"))
        for name in ("a", "b")
    ]
    await asyncio.sleep(1)
    third = stack.session("c")
    refused = await third.eval("globalThis.ran = true")
    error: Any = refused.error
    assert error.name == "Overloaded"
    assert (
        "2 (actor_cells) on each of 1 actors; the cell was not begun. Try again in" in error.message
    )
    assert 0.1 <= error.data["retry_seconds"] <= 60
    assert refused.state == "kept"
    assert [(await one).text for one in busy] == ["1", "1"]
    assert (await third.eval("typeof ran")).text == "undefined"  # it never ran


async def test_more_actors_take_what_one_cannot(make: Make) -> None:
    stack = make(options={"min_actors": 2, "max_actors": 2, "actor_cells": 2})
    await asyncio.gather(*(stack.session(f"w{n}").eval("1") for n in range(4)))
    cells = [
        stack.session(str(n)).eval("await kit.echo({value: 1, seconds: 0.5})") for n in range(4)
    ]
    outcomes = await asyncio.gather(*cells)
    assert [one.error for one in outcomes] == [None] * 4


async def test_a_dead_actor_costs_the_cell_that_ran_and_no_other(
    make: Make, fake_ray: FakeRay
) -> None:
    stack = make(options={"max_actors": 1})
    calm, busy = stack.session("calm"), stack.session("busy")
    # The check of the first cell with a call loads the parser.
    await calm.eval("let own = await kit.echo({value: 1, seconds: 0})")
    await busy.eval("let own = 2")
    waiting = asyncio.ensure_future(calm.eval("own += await kit.echo({value: 5, seconds: 1}); own"))
    await asyncio.sleep(0.2)
    running = asyncio.ensure_future(busy.eval("own = 9; for (;;);"))
    await asyncio.sleep(0.5)
    fake_ray.handles[0].die("The actor is dead because its node has died.")
    failed = await running
    assert failed.error is not None
    assert failed.error.message == (
        "the actor died: its node has died; variables are as they were before this cell"
    )
    assert (await waiting).text == "6"  # went on in another actor, and its call was made once
    assert (await busy.eval("own")).text == "2"


async def test_a_start_that_fails_is_tried_again_and_then_told(
    make: Make, fake_ray: FakeRay
) -> None:
    stack = make(options={"start_seconds": 0.2})
    fake_ray.slow = True
    outcome = await stack.session("one").eval("1")
    assert outcome.error is not None
    assert "no actor was ready within 0.2 s (start_seconds)" in outcome.error.message
    fake_ray.slow = False
    assert (await stack.session("one").eval("1")).text == "1"


async def test_options_that_ray_refuses_are_reported(make: Make, fake_ray: FakeRay) -> None:
    stack = make(options={"actor_options": {"colour": "red"}})
    fake_ray.refusal = ValueError("Invalid option keyword colour for actors")
    with pytest.raises(ConfigurationError, match="actor_options: Ray refuses them: Invalid option"):
        await stack.session("one").eval("1")
    fake_ray.refusal = RuntimeError("the cluster is gone")
    outcome = await stack.session("one").eval("1")
    assert outcome.error is not None
    assert "no actor can be started: the cluster is gone" in outcome.error.message


def test_a_closed_pool_has_no_actors(make: Make, fake_ray: FakeRay) -> None:
    stack = make()
    stack.session("one").eval_sync("1")
    stack.close()
    assert _pool(stack).actors == ()
    assert all(handle.dead for handle in fake_ray.handles)


def test_a_fork_leaves_the_cluster_to_the_parent(make: Make, monkeypatch: Any) -> None:
    stack = make()
    stack.session("one").eval_sync("1")
    pid = os.getpid()
    monkeypatch.setattr("interpstack_ray.pool.os.getpid", lambda: pid + 1)
    with pytest.raises(Exception, match="process this one was forked from; make a new stack"):
        _pool(stack).check_open()
    monkeypatch.undo()
