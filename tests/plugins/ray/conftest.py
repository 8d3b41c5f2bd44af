"""Stacks whose engine runs in actors: of no cluster, or of one on this machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fake_ray import FakeRay

import interpstack_ray
from interpstack import InterpreterStack, bridge
from interpstack_ray import actor
from interpstack_ray.cluster import ClusterConnection


@bridge("kit.echo")
async def echo(value: Any = None, seconds: float = 0.0) -> Any:
    await asyncio.sleep(seconds)
    return value


@pytest.fixture
def fake_ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    """Ray without a cluster, for all engines of a test."""
    ray = FakeRay()
    monkeypatch.setattr(ClusterConnection, "open", lambda self: ray)
    monkeypatch.setattr(interpstack_ray, "find_spec", lambda name: True)
    # these actors have no process of their own, whose end would be theirs
    monkeypatch.setattr(actor, "watch_memory", lambda most, full: None)
    yield ray
    ray.close()


@pytest.fixture
def make(fake_ray: FakeRay) -> Iterator[Callable[..., InterpreterStack]]:
    """Makes stacks with the bridge `kit.echo`, without a cluster; closes them."""
    made: list[InterpreterStack] = []

    def stack(name: Any = "ray:quickjs", **options: Any) -> InterpreterStack:
        options.setdefault("bridges", [echo])
        made.append(InterpreterStack(name, **options))
        return made[-1]

    yield stack
    for item in made:
        item.close()


@pytest.fixture
def until() -> Callable[..., None]:
    """Wait for something to become true."""

    def wait(true: Callable[[], Any], seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, f"still not true after {seconds:g} s"
            time.sleep(0.01)

    return wait
