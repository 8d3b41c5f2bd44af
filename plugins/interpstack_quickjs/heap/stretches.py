"""Stretches of memory in the form that images have: start and length in words, then the bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

import attrs

__all__ = ["WORD", "Stretches"]

#: Bytes of a word, of which starts and lengths are multiples.
WORD: Final = 4
_HEAD: Final = struct.Struct("<II")


@attrs.frozen(slots=False, repr=False)
class Stretches:
    """Stretches of a memory, taken apart when they are needed.

    Most images are stored and never loaded again.

    Attributes:
        data: The stretches as an image has them.
        size: Bytes of the memory.
    """

    data: bytes = attrs.field(default=b"", repr=False)
    size: int = 0

    @classmethod
    def of(cls, parts: Iterable[tuple[int, bytes]], size: int) -> Stretches:
        """The stretches with these addresses and contents, in whole words."""
        pieces: list[bytes] = []
        for address, content in parts:
            pieces += (_HEAD.pack(address // WORD, len(content) // WORD), content)
        return cls(b"".join(pieces), size)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Address and content of each stretch.

        Raises:
            ValueError: The data is damaged.
        """
        return zip(*self._parts, strict=True)

    @cached_property
    def _parts(self) -> tuple[list[int], list[bytes]]:
        return self._parse()

    def _parse(self) -> tuple[list[int], list[bytes]]:
        """Addresses and contents: a tuple for each part would be one more for the collector."""
        addresses: list[int] = []
        contents: list[bytes] = []
        data, at, size, read = self.data, 0, self.size, _HEAD.unpack_from
        last = len(data) - _HEAD.size
        while at <= last:
            start, words = read(data, at)
            if WORD * (start + words) > size:
                raise ValueError("it names memory it does not have")
            begin = at + _HEAD.size
            at = begin + WORD * words
            addresses.append(WORD * start)
            contents.append(data[begin:at])
        if at != len(data):
            raise ValueError("it is cut short")
        return addresses, contents
