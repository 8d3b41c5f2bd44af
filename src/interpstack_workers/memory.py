"""The memory that a worker holds, for engines whose realms reserve far more than they use.

The kernel counts what a process has reserved against `RLIMIT_DATA`. Where that says nothing of the
memory in use, the worker looks at the pages that it holds instead, at short intervals.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["held_bytes", "watch_memory"]

#: Seconds between two looks, each of which takes some 20 microseconds.
_LOOK_SECONDS: Final = 0.02


def held_bytes() -> int | None:
    """Bytes of private memory that this process holds; `None` if the system does not tell."""
    try:
        resident, shared = Path("/proc/self/statm").read_text("ascii").split()[1:3]
    except (OSError, ValueError):
        return None
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def watch_memory(most: int, full: Callable[[], object]) -> None:
    """Wait until this process holds more memory than allowed, or does not tell any more.

    Args:
        most: Bytes of private memory that it may hold.
        full: Called once it holds more.
    """
    while (held := held_bytes()) is not None:
        if held > most:
            full()
            return
        time.sleep(_LOOK_SECONDS)
