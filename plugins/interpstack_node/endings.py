"""Ends of cells that cost their kernel."""

from __future__ import annotations

from typing import Final

import attrs

from interpstack import GuestError, Limits, Notification, Progress
from interpstack_node.kernels.conversation import KernelAnswer
from interpstack_node.kernels.process import KernelDied

__all__ = ["UNDONE", "is_overfull", "lost", "remains", "undone"]

#: The state after a cell that was taken back with its kernel.
UNDONE: Final = (
    "variables were reset to their values from before this cell; functions and classes are lost"
)
#: Bytes beyond the memory limit that the kernel itself may take.
_GARBAGE_BYTES: Final = 16 * 2**20


def is_overfull(answer: KernelAnswer, limits: Limits) -> bool:
    """Whether a guest has more in memory than it may."""
    limit = limits.memory_bytes
    return limit is not None and answer.memory_bytes > limit + _GARBAGE_BYTES


def lost(death: KernelDied, limits: Limits, output: str) -> Progress:
    """The end of a cell whose kernel is gone.

    Args:
        death: How the kernel ended.
        limits: Limits of the cell.
        output: Console output that had arrived.
    """
    notifications = [Notification("console", {"text": output, "omitted": 0})] if output else []
    if death.memory:
        limit = (limits.memory_bytes or 0) // 2**20
        error = GuestError(
            "OutOfMemory", f"the guest used up its memory limit of {limit} MiB; {UNDONE}"
        )
    else:
        name = "Timeout" if death.slow else "EngineFailure"
        error = GuestError(name, f"{death}; {UNDONE}")
    return Progress(notifications=notifications, failure=error, state="undone")


def remains(answer: KernelAnswer, limits: Limits, importing: int) -> str:
    """Remains of an ended cell in its kernel with which no other cell can live.

    Args:
        answer: The kernel's answer to the end.
        limits: Limits of the cell.
        importing: Modules that are being loaded.

    Returns:
        Words for the reader; empty if the kernel can go on.
    """
    if answer.stopped:
        return "it left endless work behind"
    if is_overfull(answer, limits):
        return "it left more in memory than the limit allows"
    return "it left a module half loaded" if importing else ""


def undone(progress: Progress, why: str) -> Progress:
    """The end of a cell that was taken back with its kernel."""
    failure = GuestError("EngineFailure", f"{UNDONE}: {why}")
    return attrs.evolve(progress, failure=failure, state="undone")
