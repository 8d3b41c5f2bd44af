"""Tools of a host without any agent framework."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from engines import OnEngine

from interpstack import CellContext, HostTool, InterpreterStack


def host_tool(name: str, **fields: Any) -> HostTool:
    """A tool that answers with what it got."""

    async def call(given: dict[str, Any], context: CellContext) -> Any:
        return given

    return HostTool(**{"name": name, "call": call, **fields})


@pytest.fixture
def make_tool() -> Callable[..., HostTool]:
    return host_tool


@pytest.fixture(scope="session")
def stacks() -> Iterator[dict[str, InterpreterStack]]:
    """Stacks by engine, made when they are first wanted."""
    made: dict[str, InterpreterStack] = {}
    yield made
    for stack in made.values():
        stack.close()


@pytest.fixture
def stack(stacks: dict[str, InterpreterStack], on_engine: OnEngine) -> InterpreterStack:
    name = on_engine.name
    if name not in stacks:
        stacks[name] = InterpreterStack(name, ["ptc"])
    return stacks[name]
