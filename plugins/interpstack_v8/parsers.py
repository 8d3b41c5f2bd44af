"""Isolates that give cells a top-level `await`; sources pass through them, guests never run there.

So nothing that a guest has changed changes the transform, and V8's limits hold for it as for
guests: the time counts as the cell's, and a source too large or too deep harms no other cell.
"""

from __future__ import annotations

import json
import os
import threading
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

import attrs

from interpstack_javascript import awaiting_source
from interpstack_v8.context import DOOR, LOCKED, SetupScript, setup_script
from interpstack_v8.isolates.failures import IsolateLost
from interpstack_v8.isolates.isolate import Isolate

__all__ = ["Wrapped", "wrap_awaiting"]

#: Bytes of heap to count on; V8 gets several times as much, for the trees of large sources.
_HEAP_BYTES: Final = 64 * 2**20
#: Bytes in use after a source above which an isolate is not used again, because it would retain
#: them.
_KEPT_BYTES: Final = 48 * 2**20
#: Characters of a source that needs no time limit: it takes a few milliseconds. With a limit, an
#: isolate is ready again 10 ms later.
_SMALL: Final = 16_384
#: Seconds that V8 has to stop, once a cell's time is up.
_GIVE_UP_SECONDS: Final = 2.0


@attrs.frozen
class Wrapped:
    """The result of preparing a source.

    Attributes:
        source: A script whose value is a promise of `{value}`, or which throws; `None` for a
            source that can be run as it is.
        cpu_seconds: The CPU time of the preparation.
        shifts: The kernel's table that leads from columns of the script to those of the source;
            empty if none has moved.
    """

    source: str | None
    cpu_seconds: float
    shifts: str = ""


class _Idle:
    """Idle isolates of this process that wait for a source."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._waiting: list[Isolate] = []

    def take(self) -> Isolate:
        with self._lock:
            if self._pid != os.getpid():  # after a fork their threads are gone
                self._pid, self._waiting = os.getpid(), []
            if self._waiting:
                return self._waiting.pop()
        return _new_isolate()

    def give(self, isolate: Isolate, heap: int) -> None:
        with self._lock:
            if heap <= _KEPT_BYTES and len(self._waiting) < (os.cpu_count() or 2):
                self._waiting.append(isolate)
                return
        isolate.close()


_idle = _Idle()


@lru_cache(maxsize=64)
def _wrap_small(source: str) -> Wrapped:
    """Sources come again where a cell is replayed."""
    return _wrap(source, None)


def wrap_awaiting(source: str, seconds: float | None) -> Wrapped:
    """Move the statements of a script into an async function, if they await something.

    A script that declares one of `LOCKED` becomes one that throws.

    Args:
        source: A script without `let`, `const` and `class` at its top level.
        seconds: How long it may take; `None` for no limit.

    Raises:
        OutOfTime: It took longer.
    """
    return _wrap_small(source) if len(source) <= _SMALL else _wrap(source, seconds)


def _wrap(source: str, seconds: float | None) -> Wrapped:
    isolate = _idle.take()
    begun, heap = isolate.cpu_seconds, _KEPT_BYTES + 1
    try:
        answer = isolate.enter("wrap", source, seconds=seconds)
        heap = answer.heap
    except IsolateLost:
        return Wrapped("throw new RangeError('the source is too large')", seconds or 0.0)
    finally:
        # The first command of a new isolate can come before its clock is known.
        spent = max(0.0, isolate.cpu_seconds - begun)
        _idle.give(isolate, heap)
    shifts, _, script = answer.text.partition("\n")
    return Wrapped(script or None, spent, shifts)


def _new_isolate() -> Isolate:
    isolate = Isolate(_setup(), _HEAP_BYTES, _refuse, _refuse, give_up_seconds=_GIVE_UP_SECONDS)
    isolate.enter("wrap", "await 1", seconds=None)  # its clock is known from then on
    return isolate


@cache
def _setup() -> tuple[SetupScript, ...]:
    door = (files("interpstack_v8") / "parser.js").read_text("utf-8")
    locked = json.dumps(LOCKED)
    # What is built begins with a comment, and is a function that returns the transform.
    return (
        setup_script("interpstack:awaiting", f"globalThis.$wrap = (\n{awaiting_source()})()"),
        setup_script("interpstack:parser", f"({door})($wrap, {json.dumps(DOOR)}, {locked})"),
    )


def _refuse(*names: str) -> str:
    raise ImportError("there are no modules")
