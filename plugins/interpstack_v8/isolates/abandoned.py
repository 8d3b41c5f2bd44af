"""Isolates that were left to themselves because V8 did not stop: their threads still compute."""

from __future__ import annotations

from typing import Final

__all__ = ["MAX_ABANDONED", "abandon", "abandoned", "has_stopped"]

#: Abandoned isolates that may compute; beyond this number, a cancellation waits for the time limit.
MAX_ABANDONED: Final = 8
_abandoned: set[object] = set()


def abandon(isolate: object) -> None:
    """Note that an isolate computes for nobody."""
    _abandoned.add(isolate)


def has_stopped(isolate: object) -> None:
    """Note that an abandoned isolate computes no longer."""
    _abandoned.discard(isolate)


def abandoned() -> int:
    """The number of abandoned isolates of this process that still compute."""
    return len(_abandoned)
