"""Stacks on the reference engine whose cells draw on accounts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interpstack import InterpreterStack
from interpstack_testing import FakeEngine


@pytest.fixture
def make_stack() -> Iterator[Callable[..., InterpreterStack]]:
    """Makes stacks that are closed at the end of the test."""
    stacks = []

    def make(*bridges: Any, **options: Any) -> InterpreterStack:
        stack = InterpreterStack(FakeEngine(), ["accounts"], bridges=bridges, **options)
        stacks.append(stack)
        return stack

    yield make
    for stack in stacks:
        stack.close()


@pytest.fixture
def make_session(make_stack: Callable[..., InterpreterStack]) -> Callable[..., Any]:
    """Makes sessions, each of a stack of its own."""
    return lambda *bridges, **options: make_stack(*bridges, **options).session("s")
