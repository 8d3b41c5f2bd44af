"""Realms that are awake: a bounded number, because each needs a thread and a heap.

Beyond the bound, the realm that was used longest ago is put to rest: its portable values are
stored, and its heap and its thread end. The realm wakes when it is used again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, Protocol

__all__ = ["MAX_AWAKE", "awake_realms"]

#: Realms of this process that are awake at once.
MAX_AWAKE: Final = 64


class CanRest(Protocol):
    """A realm that gives its heap back until it is used again."""

    def rest(self) -> None:
        """Store the values, and give heap and thread back; not while a cell runs."""


class AwakeRealms:
    """The realms that are awake, the one used longest ago first."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self._awake: OrderedDict[int, CanRest] = OrderedDict()
        self._lock = threading.Lock()

    def used(self, realm: CanRest) -> None:
        """Note that a realm is awake and in use, and put others to rest for it."""
        with self._lock:
            self._awake[id(realm)] = realm
            self._awake.move_to_end(id(realm))
            surplus = len(self._awake) - self.bound
            tired = list(self._awake.values())[: max(0, surplus)]
        for other in tired:
            if other is not realm:
                other.rest()

    def left(self, realm: CanRest) -> None:
        """Note that a realm no longer has a heap."""
        with self._lock:
            self._awake.pop(id(realm), None)


awake_realms = AwakeRealms(MAX_AWAKE)
