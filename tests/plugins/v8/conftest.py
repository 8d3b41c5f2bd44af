"""Stacks that run V8."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from interpstack import Bridge, InterpreterStack, Limits, Session

_HERE = Path(__file__).parent


# Elsewhere they run in processes of their own; see `test_apart.py`.
if os.environ.get("INTERPSTACK_V8") != "1":
    collect_ignore = [path.name for path in _HERE.glob("test_*.py") if path.name != "test_apart.py"]


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
