"""The memory of this process, as the system counts it."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

__all__ = ["open_files", "resident_bytes", "threads"]


def resident_bytes() -> int:
    """Memory in use, or the highest use so far if the system reports only that."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def open_files() -> int:
    """Open file descriptors; 0 where the system does not tell."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def threads() -> int:
    """Threads that Python knows."""
    return threading.active_count()
