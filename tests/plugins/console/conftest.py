"""A session with nothing but the default engine and the console."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from interpstack import InterpreterStack, Limits, Session


@pytest.fixture(scope="session")
def stack() -> Iterator[InterpreterStack]:
    with InterpreterStack(plugins=["console"], limits=Limits(cpu_seconds=20)) as made:
        yield made


@pytest.fixture
async def session(stack: InterpreterStack) -> AsyncIterator[Session]:
    async with stack.session() as opened:
        yield opened
