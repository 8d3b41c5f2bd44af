"""Tools of a host without any agent framework."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

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
def stack() -> Iterator[InterpreterStack]:
    with InterpreterStack(plugins=["ptc"]) as made:
        yield made
