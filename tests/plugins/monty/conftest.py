"""Sessions with Python cells, and the engine without one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from interpstack import Bridge, BridgeRegistry, BridgeSet, InterpreterStack, Limits, Session
from interpstack_monty.engine import MontyEngine


async def _echo(value: Any) -> Any:
    return value


@pytest.fixture(scope="module")
def cpu_seconds() -> float:
    """Computing time of a cell. Monty stops at it by the clock, and a busy machine may stand still
    for a second; modules whose guests never end override it.
    """
    return 5.0


@pytest.fixture(scope="module")
def stack(cpu_seconds: float) -> Iterator[InterpreterStack]:
    """A stack with the bridge `kit.echo`, which takes anything and gives it back."""
    bridges = [Bridge(name="kit.echo", handler=_echo, raw=True)]
    limits = Limits(cpu_seconds=cpu_seconds, memory_bytes=32 * 2**20)
    with InterpreterStack("monty", ["console"], bridges=bridges, limits=limits) as made:
        yield made


@pytest.fixture
async def session(stack: InterpreterStack) -> AsyncIterator[Session]:
    async with stack.session() as opened:
        yield opened


@pytest.fixture
def engine() -> Iterator[MontyEngine]:
    made = MontyEngine()
    yield made
    made.close()


@pytest.fixture(scope="session")
def offer() -> Callable[..., BridgeSet]:
    """Bridges by their names."""

    def make(*names: str, **fields: Any) -> BridgeSet:
        registry = BridgeRegistry()
        for name in names:
            registry.bridge(Bridge(name=name, handler=_echo, raw=True, **fields))
        return registry.freeze()

    return make
