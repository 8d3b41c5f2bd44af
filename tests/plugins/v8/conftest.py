"""Stacks that run V8."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from interpstack import Bridge, InterpreterStack, Limits, Session

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if importlib.util.find_spec("jsrun") is not None:
        return
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="jsrun has no wheel for this platform"))


async def _echo(value: Any) -> Any:
    return value


@pytest.fixture
def limits() -> Limits:
    """Modules may override it."""
    return Limits()


@pytest.fixture
async def session(limits: Limits) -> AsyncIterator[Session]:
    """A session with the bridge `host.echo` and a console."""
    echo = Bridge(name="host.echo", handler=_echo, raw=True)
    stack = InterpreterStack(engine="v8", plugins=["console"], bridges=[echo], limits=limits)
    async with stack.session("v8") as session:
        yield session
    stack.close()
