"""Isolates that were left to themselves because V8 did not stop: their threads still compute."""

from __future__ import annotations

from typing import Final

from interpstack import EngineFailure

__all__ = [
    "MAX_ABANDONED",
    "MAX_COMPUTING",
    "TooManyAbandoned",
    "abandon",
    "abandoned",
    "has_stopped",
    "refuse_more",
]

#: Abandoned isolates that may compute; beyond this number, a cancellation waits for the time limit.
MAX_ABANDONED: Final = 8
#: Abandoned isolates beyond which no new isolate is made, so that their threads and their memory
#: are bounded: each of the isolates that exist can be abandoned only once.
MAX_COMPUTING: Final = 16
_abandoned: set[object] = set()


def abandon(isolate: object) -> None:
    """Note that the result of an isolate's computation is no longer needed."""
    _abandoned.add(isolate)


def has_stopped(isolate: object) -> None:
    """Note that an abandoned isolate computes no longer."""
    _abandoned.discard(isolate)


class TooManyAbandoned(EngineFailure):
    """Raised when an isolate is needed while too many abandoned ones still compute."""


def refuse_more() -> None:
    """Refuse another isolate while `MAX_COMPUTING` abandoned ones compute.

    Raises:
        TooManyAbandoned: So many do.
    """
    if abandoned() >= MAX_COMPUTING:
        raise TooManyAbandoned(
            f"{abandoned()} heaps of this process still compute in built-ins that V8 cannot stop, "
            "and no other heap is opened meanwhile; run the cell again later, or use "
            "engine='process:v8', which ends them"
        )


def abandoned() -> int:
    """The number of abandoned isolates of this process that still compute."""
    return len(_abandoned)
