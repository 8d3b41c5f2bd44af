"""States that a realm begins with: the base heap, or the content of an image."""

from __future__ import annotations

from typing import Final

import attrs

from interpstack import BridgeSet, Image, ImageError, Limits
from interpstack_javascript.modules import ModuleTable
from interpstack_quickjs.guest_memory import Heap
from interpstack_quickjs.heap.base import Base
from interpstack_quickjs.heap.bound import bound_heaps, offer_digest

__all__ = ["ENGINE", "QuickJSState", "fresh_state", "memory_limit", "state_of"]

#: Name of the engine, in images and elsewhere.
ENGINE: Final = "quickjs"
#: What WebAssembly's 32-bit addresses allow.
_MAX_MEMORY: Final = 2**32 - 65536


@attrs.frozen(eq=False, repr=False)
class QuickJSState:
    """State that a realm begins with.

    Attributes:
        heap: The guest's memory.
        cell: Name of the cell that was running.
        modules: Modules that were loaded.
        bound: Digest of the bridges and limits that the guest received last.
        is_fresh: Whether no code has run in the guest.
    """

    heap: Heap
    cell: str | None = None
    modules: ModuleTable = attrs.field(factory=ModuleTable)
    bound: str = ""
    is_fresh: bool = False


def memory_limit(limits: Limits) -> int:
    """Return the bytes to which the guest's memory may grow, whatever larger limit was set."""
    return min(limits.memory_bytes or _MAX_MEMORY, _MAX_MEMORY)


def fresh_state(base: Base, bridges: BridgeSet, limits: Limits) -> QuickJSState:
    """The state of a new realm: bound already, if an earlier one was bound to the same."""
    digest = offer_digest(bridges, limits)
    heap = bound_heaps.get(base, digest)
    if heap is None:
        return QuickJSState(base.heap, is_fresh=True)
    return QuickJSState(heap, bound=digest, is_fresh=True)


def state_of(image: Image, base: Base, limits: Limits, *, apart: bool = True) -> QuickJSState:
    """The state that an image holds.

    Args:
        image: The image, from an untrusted place.
        base: The base heap of the engine.
        limits: The largest memory.
        apart: Take the heap apart; a caller that loads it at once need not. See `unpack`.

    Raises:
        ImageError: The image is damaged, or of another engine or build.
    """
    if image.engine != ENGINE:
        raise ImageError(
            f"the image was made by engine {image.engine!r:.80}; {ENGINE!r} cannot open it"
        )
    if image.base != base.id:
        raise ImageError("the image was made by another build of the engine or its plugins")
    from interpstack_quickjs.heap.opened import opened_images

    most = memory_limit(limits)
    heap, extra = opened_images.open(base.id, base.heap, image.data, most, apart=apart)
    cell, bound = extra.get("cell"), str(extra.get("bound", ""))
    if cell is not None and not isinstance(cell, str):
        raise ImageError("the image is damaged: its cell has no name")
    try:
        return QuickJSState(heap, cell, ModuleTable(extra.get("modules", "")), bound)
    except (ValueError, TypeError) as error:
        raise ImageError(f"the image is damaged: {error}") from error
