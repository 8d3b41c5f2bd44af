"""What a simulation replaces around the product: clocks, threads and chance of the process.

The product itself is not replaced. It reads its clocks from the module `time`, runs guests,
handlers and stores in executors, and draws ids from the operating system; all of these come from
the simulation while it runs.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.model.loop import EPOCH, HOST, Host, SimLoop, SimThreads

import interpstack.threads
import interpstack_state.threads
from interpstack.cells.clock import CellClock

__all__ = ["STORE_SECONDS", "simulated"]

#: Seconds that a call of a store takes on each of its two ways, at most.
STORE_SECONDS = 0.08


#: The class reads its clock by a function that it got when it was made.
_CELL_CLOCK = CellClock.__init__.__globals__


def _patched(patches: list[tuple[Any, str, Any]]) -> list[tuple[Any, str, Any]]:
    """Replace attributes of modules and items of dictionaries; return what was there."""
    before = []
    for where, name, value in patches:
        if isinstance(where, dict):
            before.append((where, name, where[name]))
            where[name] = value
        else:
            before.append((where, name, getattr(where, name)))
            setattr(where, name, value)
    return before


@contextmanager
def simulated(chance: random.Random, died: Any = lambda host: None) -> Iterator[SimLoop]:
    """Let the block run in a simulated process, and give its loop."""
    loop = SimLoop(chance, died)
    random_state = random.getstate()
    ids = random.Random(chance.getrandbits(64))
    random.seed(chance.getrandbits(64))

    def wall() -> float:
        host: Host | None = HOST.get()
        return EPOCH + loop.now + (0.0 if host is None else host.offset)

    def threads(size: int = 1, name: str = "") -> SimThreads:
        return SimThreads(STORE_SECONDS)

    in_place = SimThreads()
    before = _patched(
        [
            (time, "time", wall),
            (time, "time_ns", lambda: int(wall() * 1e9)),
            (time, "monotonic", lambda: loop.now),
            (time, "thread_time", lambda: 0.0),
            (_CELL_CLOCK, "__attr_factory__started", lambda: loop.now),
            (os, "urandom", ids.randbytes),
            (random, "_urandom", ids.randbytes),
            (uuid, "uuid4", lambda: uuid.UUID(int=ids.getrandbits(128), version=4)),
            (interpstack.threads, "_pool", lambda name, make: in_place),
            (interpstack_state.threads, "ThreadPoolExecutor", threads),
            (sys, "unraisablehook", lambda raised: None),
        ]
    )
    collecting = gc.isenabled()
    gc.disable()  # a collection would close coroutines of dead hosts at any place
    try:
        yield loop
    finally:
        try:
            loop.dispose()
        finally:
            _patched(before)
            random.setstate(random_state)
            if collecting:
                gc.enable()
