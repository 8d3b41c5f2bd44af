"""Heaps of guests that know their bridges and limits, and have run no code yet.

To tell a guest takes longer than the rest of opening a realm, and the result depends on nothing
but what the guest receives. So the second realm with the same offer leaves its heap to all others.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final

from interpstack import BridgeSet, Limits
from interpstack_javascript.exchange import bind_arguments
from interpstack_quickjs.guest_memory import Heap
from interpstack_quickjs.heap.base import Base

__all__ = ["BoundHeaps", "bound_heaps", "digest_of", "offer_digest"]

#: Offers that are remembered; a program has few that alternate.
_REMEMBERED: Final = 32
#: Digests of the last offers, each with its bridges and limits, by the id of the bridges.
_digests: dict[int, tuple[BridgeSet, Limits, str]] = {}
_lock = threading.Lock()


def digest_of(arguments: Sequence[Any]) -> str:
    """A digest of a guest's bridges and limits."""
    return hashlib.sha256(json.dumps(arguments).encode()).hexdigest()[:32]


def offer_digest(bridges: BridgeSet, limits: Limits) -> str:
    """The digest of an offer, computed once for each set of bridges while it is remembered."""
    known = _digests.get(id(bridges))
    if known is not None and known[0] is bridges and known[1] == limits:
        return known[2]
    digest = digest_of(bind_arguments(bridges, limits))
    with _lock:
        _digests[id(bridges)] = bridges, limits, digest
        while len(_digests) > _REMEMBERED:
            del _digests[next(iter(_digests))]
    return digest


class BoundHeaps:
    """Heaps by base heap and digest; those used last are remembered."""

    def __init__(self) -> None:
        self._heaps: OrderedDict[tuple[str, str], Heap | None] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, base: Base, digest: str) -> Heap | None:
        """The heap of a fresh guest with this offer; `None` if no such heap is stored."""
        with self._lock:
            heap = self._heaps.get((base.id, digest))
            if heap is not None:
                self._heaps.move_to_end((base.id, digest))
            return heap

    def note(self, base: Base, digest: str, make: Callable[[], Heap]) -> None:
        """Count a use of this offer of bridges and limits, and store the heap at its second use.

        Args:
            base: The heap that the guest began with.
            digest: The digest of the bridges and limits.
            make: Makes the heap, as the differences from the base heap.
        """
        key = base.id, digest
        with self._lock:
            again = key in self._heaps
        heap = make() if again else None
        with self._lock:
            self._heaps[key] = heap
            self._heaps.move_to_end(key)
            while len(self._heaps) > _REMEMBERED:
                self._heaps.popitem(last=False)


#: Shared by all engines of the process.
bound_heaps = BoundHeaps()
