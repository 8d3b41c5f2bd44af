"""Realms of waiting cells, which an engine keeps until the cells continue.

A kept realm is known by its image, which holds no state: only the engine that made the image can
open it, once, and only while it keeps the realm.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections import OrderedDict
from typing import Final, Generic, Protocol, TypeVar

from interpstack import Image, ImageError

__all__ = ["Keepable", "KeptRealms"]

#: The start of `Image.base`.
_KEPT: Final = "kept"
_GONE: Final = "the cell is no longer kept; run it again"


class Keepable(Protocol):
    """A realm in the middle of a cell."""

    def discard(self) -> None:
        """Free everything, though the realm is kept."""


_R = TypeVar("_R", bound=Keepable)


class KeptRealms(Generic[_R]):
    """The kept realms of one engine; beyond a number, the one kept longest ago is discarded.

    Args:
        engine: Name of the engine, for images.
        most: Realms that may be kept at once.
    """

    def __init__(self, engine: str, most: int) -> None:
        self._engine = engine
        self._most = most
        self._base = f"{_KEPT} {secrets.token_hex(8)}"
        self._pid = os.getpid()
        self._kept: OrderedDict[bytes, _R] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, realm: _R) -> Image:
        """Keep a realm; returns the image that stands for it."""
        image = Image(self._engine, self._base, secrets.token_bytes(16))
        with self._lock:
            self._kept[image.data] = realm
            surplus = max(0, len(self._kept) - self._most)
            discarded = [self._kept.popitem(last=False)[1] for _ in range(surplus)]
        for one in discarded:
            one.discard()
        return image

    def take(self, image: Image) -> _R:
        """The realm that an image stands for; the image cannot be opened again.

        Raises:
            ImageError: The engine does not keep that realm, or not any more.
        """
        if not image.base.startswith(_KEPT):
            name = self._engine
            raise ImageError(f"engine {name!r} has no images; load the state's portable values")
        if image.base != self._base or self._pid != os.getpid():
            raise ImageError(_GONE)
        with self._lock:
            realm = self._kept.pop(image.data, None)
        if realm is None:
            raise ImageError(_GONE)
        return realm

    def close(self) -> None:
        """Discard all realms."""
        with self._lock:
            realms = list(self._kept.values())
            self._kept.clear()
        if self._pid == os.getpid():
            for one in realms:
                one.discard()
