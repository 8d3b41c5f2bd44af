"""The address space of this process, which `ulimit -v` bounds.

WebAssembly and V8 reserve addresses by the gigabyte and use few of them. Where there are not enough
the one refuses and the other ends the process, so both look here first.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

__all__ = [
    "LEAST_BYTES",
    "WIDE_BYTES",
    "address_advice",
    "address_limit",
    "address_room",
    "is_narrow",
]

#: What wasmtime reserves for a guest's memory by default, with its guard: then code needs not check
#: where it reads and writes, and a memory never moves.
WIDE_BYTES: Final = 2**32 + 2**26
#: Guests for which a process should have room to have that. With less, each guest reserves little,
#: and takes about a quarter more computing time.
_GUESTS: Final = 64
#: Without so much nothing is tried: wasmtime ends the process where it gets no addresses.
LEAST_BYTES: Final = 512 * 2**20
_MIB: Final = 2**20


def address_limit() -> int | None:
    """Bytes of address space that this process may have; `None` for no limit."""
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def address_room() -> int | None:
    """Bytes of it that are not taken yet; all of it where the system does not tell."""
    limit = address_limit()
    return None if limit is None else max(0, limit - _taken())


def is_narrow() -> bool:
    """Whether this process has too few for guests that reserve `WIDE_BYTES` each."""
    room = address_room()
    return room is not None and room < _GUESTS * WIDE_BYTES


def address_advice(needed: int) -> str:
    """The advice for a process with too little address space; empty without a limit.

    Args:
        needed: Bytes that were wanted.
    """
    limit = address_limit()
    if limit is None:
        return ""
    return (
        f"it needs {needed // _MIB} MiB of address space at once, and this process may have "
        f"{limit // _MIB} MiB in total (ulimit -v), of which {_taken() // _MIB} are taken; raise "
        "that limit where it is set: 'ulimit -v unlimited' in the shell, LimitAS= of the service"
    )


def _taken() -> int:
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[0]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
