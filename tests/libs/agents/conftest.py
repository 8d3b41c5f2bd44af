"""Live sessions over a real engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interpstack import InterpreterStack
from interpstack_agents import LiveSessions, persistence_mode


@pytest.fixture
def stack() -> Iterator[InterpreterStack]:
    with InterpreterStack(plugins=["persistence"]) as made:
        yield made


@pytest.fixture
def sessions(stack: InterpreterStack) -> LiveSessions:
    return LiveSessions(stack, persistence_mode(stack, "thread")())
