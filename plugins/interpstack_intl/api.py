"""The programs and the data of the plugin, for the engine that runs them."""

from __future__ import annotations

import json
import mmap
import threading
import zlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from interpstack import GuestSource
from interpstack_javascript import JAVASCRIPT

__all__ = ["SOURCE_NAME", "LocaleData", "formatter_source", "guest_source", "locale_data"]

#: Name of the guest's source, by which QuickJS gives it a way to the formatter.
SOURCE_NAME: Final = "interpstack:intl"


class LocaleData:
    """The texts in `locales.bin`, each of which is unpacked when it is first asked for.

    Args:
        data: The file: a line of JSON with a digest and the place and length of each text, and the
            compressed texts.
    """

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self._data = data
        self._start = data.find(b"\n") + 1
        described = json.loads(data[: self._start])
        #: The same exactly where the data is the same.
        self.digest: str = described["digest"]
        self._places: dict[str, tuple[int, int]] = described["places"]

    def text(self, key: str) -> str:
        """The text with this key; empty if there is none."""
        place = self._places.get(key)
        if place is None:
            return ""
        start, length = self._start + place[0], place[1]
        return zlib.decompress(self._data[start : start + length], -zlib.MAX_WBITS).decode()


@cache
def guest_source() -> GuestSource:
    """The source that gives a guest `Intl` and `Temporal`."""
    return GuestSource(
        JAVASCRIPT.name, SOURCE_NAME, _asset("guest.bundle.js").decode(), owner="intl"
    )


@cache
def formatter_source() -> str:
    """The program that answers what guests ask."""
    return _asset("formatter.bundle.js").decode()


_lock = threading.Lock()
_data: LocaleData | None = None


def locale_data() -> LocaleData:
    """The data of the locales; read once a process."""
    global _data
    with _lock:
        if _data is None:
            _data = LocaleData(_mapped("locales.bin"))
        return _data


def _mapped(name: str) -> bytes | mmap.mmap:
    """An asset of which a small part is used; mapped into memory, unless it is in an archive."""
    found = files("interpstack_intl") / "assets" / name
    if not isinstance(found, Path):
        return found.read_bytes()
    with found.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _asset(name: str) -> bytes:
    return (files("interpstack_intl") / "assets" / name).read_bytes()
