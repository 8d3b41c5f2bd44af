"""Live realms of suspended cells, which the engine keeps in memory."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from interpstack import BridgeSet, Capability, ImageError, StackView, run_guest
from interpstack_durable.suspensions import read_suspension

__all__ = ["free_kept_realm"]


async def free_kept_realm(stack: StackView, suspended: str | None) -> None:
    """Free the realm of a cell that will not continue, if the engine keeps it.

    Args:
        stack: The stack of the cell's session.
        suspended: The stored suspended run of the cell.
    """
    engine = stack.engine
    suspension = None if suspended is None else read_suspension(suspended)
    if suspension is None or Capability.KEPT_REALMS not in engine.capabilities:
        return
    opening = partial(engine.open, stack.limits, BridgeSet(), suspension.image)
    with suppress(ImageError):  # the engine has removed the realm
        realm = await run_guest(opening, lambda: None)
        await run_guest(realm.close, lambda: None)
