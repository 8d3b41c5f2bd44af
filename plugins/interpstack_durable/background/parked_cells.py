"""Cells that do not run, and whose live realms the engine keeps."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from interpstack import BridgeSet, Capability, ImageError, StackView, run_guest
from interpstack_durable.suspensions import read_suspension

__all__ = ["free_parked"]


async def free_parked(stack: StackView, suspended: str | None) -> None:
    """Free the realm of a cell that will not continue, if the engine keeps it.

    Args:
        stack: The stack of the cell's session.
        suspended: The stored suspended run of the cell.
    """
    engine = stack.engine
    suspension = None if suspended is None else read_suspension(suspended)
    if suspension is None or Capability.PARKING not in engine.capabilities:
        return
    opening = partial(engine.open, stack.limits, BridgeSet(), suspension.image)
    with suppress(ImageError):  # it is gone
        realm = await run_guest(opening, lambda: None)
        await run_guest(realm.close, lambda: None)
