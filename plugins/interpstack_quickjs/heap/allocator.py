"""The free memory of a guest, as its allocator records it.

Freed blocks still contain data that cells discarded long ago, and that data would enlarge images.
The guest's C library uses dlmalloc 2.8.6; the names here are those of its source. The allocator's
own fields are left unchanged: the spans cover only the inside of free chunks.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

__all__ = ["find_allocator", "free_spans"]

Memory = bytes | bytearray

#: `malloc_state`: smallmap, treemap, dvsize, topsize, least_addr, dv, top.
_STATE: Final = struct.Struct("<7I")
#: Where in it the heads of the lists and of the trees are.
_SMALL_BINS: Final = 40
_TREE_BINS: Final = _SMALL_BINS + 4 * 66
_STATE_BYTES: Final = _TREE_BINS + 4 * 32
#: `malloc_chunk`: prev_foot, head, fd, bk; `malloc_tree_chunk` goes on: child[2], parent, index.
_CHUNK: Final = struct.Struct("<4I")
_TREE_CHUNK: Final = struct.Struct("<8I")
_HEAD_BYTES: Final = 8
_FLAGS: Final = 7
#: Free chunks to look at; a heap has hundreds.
_MAX_CHUNKS: Final = 100_000


def find_allocator(memory: Memory, start: int) -> int:
    """Address of the allocator's state at or after `start`; 0 if no such state is found.

    The state is recognised by its list heads: the head of an empty list points to itself.
    """
    for address in range(start, len(memory) - _STATE_BYTES, 4):
        small, _, _, topsize, least, _, top = _STATE.unpack_from(memory, address)
        if not address < least <= top <= len(memory) - _HEAD_BYTES or top % 8:
            continue
        if _word(memory, top + 4) & ~_FLAGS == topsize and _lists_fit(memory, address, small):
            return address
    return 0


def free_spans(memory: Memory, allocator: int) -> list[tuple[int, int]]:
    """Start and end of the contents of free chunks, without the allocator's own fields.

    A guest may have ruined its heap; then nothing counts as free.
    """
    if not allocator:
        return []
    try:
        spans = [*_small(memory, allocator), *_trees(memory, allocator), *_ends(memory, allocator)]
    except (struct.error, ValueError):
        return []
    sound = all(0 < start <= end <= len(memory) for start, end in spans)
    # Chunks lie side by side; overlapping ones, which only damage produces, would take forever to
    # wipe.
    sound = sound and sum(end - start for start, end in spans) <= len(memory)
    return spans if sound else []


def _lists_fit(memory: Memory, allocator: int, used: int) -> bool:
    """Whether some lists are unused, and all lists in use form rings."""
    heads = [allocator + _SMALL_BINS + 8 * index for index in range(32)]
    unused = [head for head in heads if _word(memory, head + 8) == head]
    rings = [head for index, head in enumerate(heads) if used >> index & 1]
    return bool(unused) and all(_is_ring(memory, head) for head in rings)


def _is_ring(memory: Memory, head: int) -> bool:
    first = _word(memory, head + 8)
    return head != first <= len(memory) - _CHUNK.size and _word(memory, first + 12) == head


def _small(memory: Memory, allocator: int) -> Iterator[tuple[int, int]]:
    """Chunks of less than 256 bytes: a ring for each size, its head in the state."""
    used, left = _word(memory, allocator), _MAX_CHUNKS
    for index in range(32):
        if not used >> index & 1:
            continue
        head = allocator + _SMALL_BINS + 8 * index
        chunk = _word(memory, head + 8)
        while chunk != head:
            left -= 1
            if not left:
                raise ValueError("the lists of free chunks do not end")
            _check(chunk, allocator)
            _, size, following, _ = _CHUNK.unpack_from(memory, chunk)
            yield chunk + _CHUNK.size, chunk + (size & ~_FLAGS)
            chunk = following


def _trees(memory: Memory, allocator: int) -> Iterator[tuple[int, int]]:
    """Larger chunks: trees, each node of which heads a ring of chunks of its size."""
    used = _word(memory, allocator + 4)
    bins = [allocator + _TREE_BINS + 4 * index for index in range(32) if used >> index & 1]
    waiting = [_word(memory, address) for address in bins]
    seen: set[int] = set()
    while waiting:
        chunk = waiting.pop()
        if chunk in seen:
            continue
        if len(seen) > _MAX_CHUNKS:
            raise ValueError("the trees of free chunks do not end")
        seen.add(chunk)
        _check(chunk, allocator)
        _, size, following, _, left, right, _, _ = _TREE_CHUNK.unpack_from(memory, chunk)
        yield chunk + _TREE_CHUNK.size, chunk + (size & ~_FLAGS)
        waiting += [other for other in (following, left, right) if other]


def _ends(memory: Memory, allocator: int) -> Iterator[tuple[int, int]]:
    """The two chunks that are in no list: the last remainder, and the chunk behind all others."""
    _, _, remainder_bytes, top_bytes, _, remainder, top = _STATE.unpack_from(memory, allocator)
    for chunk, size in ((remainder, remainder_bytes), (top, top_bytes)):
        if chunk:
            _check(chunk, allocator)
            yield chunk + _HEAD_BYTES, chunk + size


def _check(chunk: int, allocator: int) -> None:
    if chunk % 8 or chunk <= allocator:
        raise ValueError("a free chunk lies where there can be none")


def _word(memory: Memory, address: int) -> int:
    return int(struct.unpack_from("<I", memory, address)[0])
