"""Sessions of QuickJS whose code has the plugin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from interpstack import InterpreterStack, Session

PLUGINS = ["console", "intl"]


@pytest.fixture(scope="module")
def stack() -> Iterator[InterpreterStack]:
    with InterpreterStack(plugins=PLUGINS) as stack:
        yield stack


@pytest.fixture
async def session(stack: InterpreterStack) -> AsyncIterator[Session]:
    async with stack.session() as session:
        yield session
