"""The end of a kernel's processes with that of their host, however the host ends.

A kernel that waits for a command notices that its connection closes. One that computes does not,
and neither does bubblewrap while it sets a kernel up. So the processes of a kernel hold one end of
a pipe, only the host holds the other one, and the system kills them when that one closes.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Any, Final

__all__ = ["Lifeline"]

#: Whether the system sends a signal of choice when the other end of a pipe closes.
_SIGNALS: Final = sys.platform == "linux"


class Lifeline:
    """The pipe of one kernel; where the system has no such signals, it has no ends.

    Attributes:
        inherited: Descriptors that the processes inherit.
    """

    def __init__(self) -> None:
        self._ours: int | None = None
        self.inherited: tuple[int, ...] = ()
        if _SIGNALS:
            theirs, self._ours = os.pipe()
            self.inherited = (theirs,)

    def tie(self, group: int) -> None:
        """Have a group of processes, which have inherited their end, killed with this one."""
        for number in self.inherited:
            _have_killed(group, number)
            os.close(number)
        self.inherited = ()

    def close(self) -> None:
        """Close the host's end, which kills the processes."""
        for number in self.inherited:
            os.close(number)
        self.inherited = ()
        if self._ours is not None:
            os.close(self._ours)
            self._ours = None


def _have_killed(group: int, number: int) -> None:
    import fcntl

    system: Any = fcntl
    with suppress(ProcessLookupError):  # they have ended already
        system.fcntl(number, system.F_SETSIG, signal.SIGKILL)
        system.fcntl(number, system.F_SETOWN, -group)
        flags = system.fcntl(number, system.F_GETFL)
        system.fcntl(number, system.F_SETFL, flags | os.O_ASYNC)
