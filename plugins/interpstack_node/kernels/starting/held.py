"""The start of bubblewrap, held until its processes are sure to end with their host.

Bubblewrap's child waits for bubblewrap before anything else, without end if that is killed by then.
So bubblewrap begins only once the host lets it. It gets one of its options from the host, after
those of its command, and ends at once without that option.
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from io import FileIO
from typing import Final

__all__ = ["LAST_OPTION", "HeldStart"]

#: Without this one, bubblewrap refuses the option `--hostname`.
LAST_OPTION: Final = "--unshare-uts"
#: Bytes in which bubblewrap tells the number of its child.
_INFO_BYTES: Final = 4096


class HeldStart:
    """One start of bubblewrap."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        reading, writing = os.pipe()
        self._told, self._telling = FileIO(reading, "r"), FileIO(writing, "w")

    def close(self) -> None:
        """Close its descriptors."""
        for end in (self._ours, self._theirs, self._told, self._telling):
            end.close()

    @property
    def options(self) -> int:
        """The descriptor from which bubblewrap reads the last option."""
        return self._theirs.fileno()

    @property
    def info(self) -> int:
        """The descriptor to which bubblewrap writes the number of its child."""
        return self._telling.fileno()

    def begin(self) -> None:
        """Let bubblewrap begin."""
        self._theirs.close()
        self._telling.close()
        with suppress(BrokenPipeError):  # it has ended
            self._ours.sendall(LAST_OPTION.encode() + b"\0")
            self._ours.shutdown(socket.SHUT_WR)  # a fork may have copied the descriptor

    def child(self) -> int | None:
        """The number of bubblewrap's child; `None` if bubblewrap has ended before it had one."""
        data = b""
        while b"}" not in data and len(data) < _INFO_BYTES:
            part = self._told.read(_INFO_BYTES)
            if not part:
                break
            data += part
        with suppress(ValueError, KeyError, TypeError):
            return int(json.loads(data)["child-pid"])
        return None
