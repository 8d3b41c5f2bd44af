"""Readies V8 itself, once per process.

jsrun passes flags to V8 when a process first uses V8, and has two sets of flags. With the flags for
runtimes, V8 never checks for termination in loops that call `Array(n)`: neither a time limit nor
the heap limit ends `for (;;) Array(1000)`. With the flags for snapshots, which also keep V8 to one
thread for each isolate (`--predictable --random-seed=42`), each such loop ends. So this module
first makes a snapshot and discards it.
"""

from __future__ import annotations

from typing import Final

import jsrun

from interpstack import EngineFailure
from interpstack_wasm.addresses import address_advice, address_room

__all__ = ["ready_platform"]

#: Addresses that V8 reserves when it starts. Without them it ends the process.
_ADDRESSES: Final = 50 * 2**30
#: The first random number of a runtime with the flags that are wanted, in the V8 of jsrun 0.3.
_SEEDED: Final = 0.22876995452731475


def ready_platform() -> None:
    """Have V8 start with flags under which every guest can be stopped.

    Raises:
        EngineFailure: Something else started V8 in this process before, or there are too few
            addresses for it.
    """
    room = address_room()
    if room is not None and room < _ADDRESSES:
        raise EngineFailure(f"V8 cannot be started: {address_advice(_ADDRESSES)}")
    jsrun.SnapshotBuilder().build()
    if not _is_seeded():
        raise EngineFailure(
            "jsrun was used in this process before engine 'v8', and V8 now runs with flags under "
            "which some loops cannot be stopped; open a session of the engine first, or use "
            "engine='process:v8'"
        )


def _is_seeded() -> bool:
    """Whether random numbers begin with a seed, which one flag of the set that is wanted gives.

    A runtime takes 7 ms, so another V8 than the known one is asked for a second number only.
    """
    first = _first_random()
    return first == _SEEDED or first == _first_random()


def _first_random() -> object:
    runtime = jsrun.Runtime()
    try:
        return runtime.eval("Math.random()")
    finally:
        runtime.close()
