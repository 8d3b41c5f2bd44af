"""Stacks of several processes, in one: each has its own plugin object, and they share a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fake_stacks import ImagingEngine, imaging_engine

from interpstack import InterpreterStack
from interpstack_sessions.api import StoredSessions
from interpstack_state import BlobStore, MemoryStore

__all__ = ["imaging_engine"]


@pytest.fixture
def store() -> BlobStore:
    return MemoryStore()


@pytest.fixture
def make(store: BlobStore) -> Iterator[Callable[..., InterpreterStack]]:
    """Makes stacks on the store, as different processes have them."""
    made = []

    def make_one(
        *bridges: Any, engine: Any = None, store: BlobStore = store, **options: Any
    ) -> InterpreterStack:
        plugin = StoredSessions(store, **{"patience_seconds": 0, **options})
        made.append(InterpreterStack(engine or ImagingEngine(), [plugin], bridges=bridges))
        return made[-1]

    yield make_one
    for stack in made:
        stack.close()
