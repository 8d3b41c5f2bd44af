"""Patches: a long text as the runs that it has in common with an earlier one, and what is new.

Consecutive states of a session have most bytes in common, in the same order: a cell changes some
words of the guest's memory, which also moves what follows them in an image. Compression with the
earlier text as a dictionary finds these runs, too, but takes up to ten milliseconds a megabyte;
comparing takes less than one.

Layout: the number of runs (4 bytes, little endian); for each run its length, the bytes of new text
that follow it, and the bytes of the earlier text that are skipped then (4 bytes each); at last the
new text.
"""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["apply_patch", "make_patch"]

_COUNT: Final = struct.Struct("<I")
_RUN: Final = struct.Struct("<III")
#: Bytes that are compared at once, and the longest gap between two runs.
_PART: Final = 2**16
#: Bytes that have to be the same for a run to begin.
_KEY: Final = 32
#: Runs of the longest patch: where changes are everywhere, there is little to gain.
_MOST_RUNS: Final = 400


def make_patch(before: bytes, text: bytes) -> bytes | None:
    """The patch that turns one text into another; `None` if they have too little in common."""
    source, target = memoryview(before), memoryview(text)
    runs: list[bytes] = []
    new: list[memoryview] = []
    read, made, left = 0, 0, len(text) // 2
    while made < len(text):
        length = _common(source, read, text, made)
        read, made = read + length, made + length
        found = _next_run(before, read, text, made)
        next_read, next_made = found or (read, min(made + _PART, len(text)))
        runs.append(_RUN.pack(length, next_made - made, next_read - read))
        new.append(target[made:next_made])
        left -= next_made - made
        if len(runs) > _MOST_RUNS or left < 0:
            return None
        read, made = next_read, next_made
    return b"".join((_COUNT.pack(len(runs)), *runs, *new))


def apply_patch(before: bytes, patch: bytes, size: int) -> bytes:
    """The text that `make_patch` was given.

    Args:
        before: The same earlier text.
        patch: The patch, from an untrusted place.
        size: Bytes of the text.

    Raises:
        ValueError: These bytes are no patch that makes a text of this size from `before`.
    """
    try:
        (count,) = _COUNT.unpack_from(patch)
        at = _COUNT.size + count * _RUN.size
        runs = list(_RUN.iter_unpack(memoryview(patch)[_COUNT.size : at]))
    except struct.error as error:
        raise ValueError("it is cut short") from error
    source, new = memoryview(before), memoryview(patch)
    read, parts = 0, list[memoryview]()
    for length, added, skipped in runs:
        parts += (source[read : read + length], new[at : at + added])
        read, at = read + length + skipped, at + added
    fits = len(runs) == count and at == len(patch) and read <= len(before)
    if not fits or sum(map(len, parts)) != size:
        raise ValueError("its parts do not fit together")
    return b"".join(parts)


def _common(source: memoryview, read: int, text: bytes, made: int) -> int:
    """Bytes that both texts have in common from these places on."""
    most, found, step = min(len(source) - read, len(text) - made), 0, _PART
    # `startswith` compares in place, where slices would be copied first.
    while found < most:
        part = source[read + found : read + min(found + step, most)]
        if not text.startswith(part, made + found):
            break
        found += len(part)
    step = min(step, most - found)
    while step > 1:  # the difference is in the next `step` bytes
        half = step // 2
        if text.startswith(source[read + found : read + found + half], made + found):
            found, step = found + half, step - half
        else:
            step = half
    return found


def _next_run(before: bytes, read: int, text: bytes, made: int) -> tuple[int, int] | None:
    """Where the next run begins in both texts; `None` if none begins nearby."""
    ahead = 4
    while ahead <= _PART and made + ahead + _KEY <= len(text):
        key = text[made + ahead : made + ahead + _KEY]
        if before.startswith(key, read + ahead):  # as many bytes were changed
            return _begun(before, read, read + ahead, text, made, made + ahead)
        # The search grows with what is skipped; one byte repeated is found anywhere.
        if key.count(key[:1]) < _KEY:
            found = before.find(key, read, read + 16 * ahead + 2 * _KEY)
            if found >= 0:
                return _begun(before, read, found, text, made, made + ahead)
        ahead += max(4, ahead // 16 * 4)
    return None


def _begun(
    before: bytes, read: int, source: int, text: bytes, made: int, target: int
) -> tuple[int, int]:
    """The places of a run, which may begin before where it was found."""
    while source > read and target > made and before[source - 1] == text[target - 1]:
        source, target = source - 1, target - 1
    return source, target
