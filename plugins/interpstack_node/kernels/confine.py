"""Limits that the system puts on a kernel process, and its computing time."""

from __future__ import annotations

import math
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

__all__ = ["CONFINES", "allow_cpu", "allow_rest", "cpu_clock", "seal"]

#: Whether this system can put limits on another process.
CONFINES: Final = sys.platform == "linux"
_MIB: Final = 2**20
#: Bytes beside the guest's data: V8's own limit is that much higher, and there are its young
#: generation, compiled code and threads.
_ROOM: Final = 512 * _MIB
#: Bytes of a file that a guest with a scratch folder writes.
_FILE_BYTES: Final = 256 * _MIB
#: Seconds of a guest's time after which the system ends a kernel whose host is gone.
_ORPHAN_SECONDS: Final = 30
#: Seconds that a kernel may compute between two cells: its own work, and short work of Node's
#: thread pool that a cell left behind.
_REST_SECONDS: Final = 2


def seal(pid: int, memory_bytes: int | None, descriptors: int = 0) -> None:
    """Take from a kernel that has started what it needs no more, for good.

    From then on the process writes no core, which would hold the guest's data, and its private
    memory is bounded. Without descriptors it opens no file, socket or pipe, and so starts no
    program.

    Args:
        pid: The process.
        memory_bytes: The guest's memory limit; `None` for no limit.
        descriptors: Descriptors that it may have.
    """
    if not CONFINES:
        return
    import resource

    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: descriptors,
        resource.RLIMIT_FSIZE: _FILE_BYTES if descriptors else 0,
    }
    if memory_bytes is not None:
        # The guest's data lie in V8's heap or in array buffers.
        limits[resource.RLIMIT_DATA] = _data_bytes(pid) + 2 * memory_bytes + _ROOM
    for kind, value in limits.items():
        _limit(pid, kind, value, value)


def allow_cpu(pid: int, spent: float, seconds: float | None) -> None:
    """Have the system end a kernel that computes far longer than it may.

    The host ends it much earlier, unless the host itself is gone.

    Args:
        pid: The process.
        spent: Seconds that it has computed so far.
        seconds: Seconds that it may compute from now on; `None` for no limit.
    """
    if not CONFINES:
        return
    import resource

    most = resource.RLIM_INFINITY
    if seconds is not None:
        most = math.ceil(spent + 2 * seconds) + _ORPHAN_SECONDS
    _limit(pid, resource.RLIMIT_CPU, most, resource.RLIM_INFINITY)


def allow_rest(pid: int, spent: float) -> None:
    """Have the system end a kernel that computes on between two cells.

    Nothing else ends work of Node's thread pool, such as `crypto.pbkdf2`, once it has begun.

    Args:
        pid: The process.
        spent: Seconds that it has computed so far.
    """
    if not CONFINES:
        return
    import resource

    most = math.ceil(spent) + _REST_SECONDS
    _limit(pid, resource.RLIMIT_CPU, most, resource.RLIM_INFINITY)


def _limit(pid: int, kind: int, soft: int, hard: int) -> None:
    import resource

    set_limit: Any = getattr(resource, "prlimit", None)
    with suppress(ProcessLookupError):  # its end is noticed where it is asked
        ceiling = set_limit(pid, kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            hard = ceiling if hard == resource.RLIM_INFINITY else min(hard, ceiling)
            soft = hard if soft == resource.RLIM_INFINITY else min(soft, hard)
        set_limit(pid, kind, (soft, hard))


def _data_bytes(pid: int) -> int:
    """Private writable memory of a process, as `RLIMIT_DATA` counts it."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[5])
    except (OSError, ValueError, IndexError):
        return _ROOM
    return pages * os.sysconf("SC_PAGE_SIZE")


def cpu_clock(pid: int) -> Any:
    """A function that reads the computing time of a process, all its threads together.

    Where the system does not tell, the time that has passed stands in for it.
    """
    number = (~pid << 3) | 2  # as clock_getcpuclockid(3) makes it
    if CONFINES:
        with suppress(OSError):
            time.clock_gettime(number)
            return lambda: time.clock_gettime(number)
    return time.monotonic
