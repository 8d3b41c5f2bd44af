"""Stacks that run V8."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from interpstack import Bridge, InterpreterStack, Limits, Session

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

from interpstack_v8.isolates.owner import owner


@pytest.fixture(autouse=True, scope="session")
def _engine_first() -> None:
    """Tests that use jsrun itself must not be the first to do so."""
    owner()


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
