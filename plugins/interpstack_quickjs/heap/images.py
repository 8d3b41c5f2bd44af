"""The image codec: a heap as its difference from the base heap every realm starts with.

Two heaps of one conversation mostly differ from the base in the same places. So an image is
uncompressed, and each stretch of memory begins with its address: a store of consecutive images of
one session can store the changes between two of them. See `interpstack_persistence.records`.

Layout: `IQJ3`, a checksum of the rest (16 bytes), the length of a JSON header (4 bytes, little
endian), the header, then stretches, each its start and length (4 bytes each, both in words of 4
bytes) and its bytes.

The checksum detects accidents. An attacker can forge an image with a correct checksum, so nothing
relies on the content of an image: invalid memory stops the guest, not the host.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Iterator
from typing import Any, Final

import attrs

from interpstack import ImageError
from interpstack_quickjs.guest_memory import Heap
from interpstack_quickjs.heap.stretches import WORD, Stretches

__all__ = [
    "MAX_BYTES",
    "SEAL_BYTES",
    "Memory",
    "compared",
    "difference",
    "pack",
    "sealed",
    "unpack",
]

_MAGIC: Final = b"IQJ3"
_DIGEST_BYTES: Final = 16
_NOTHING_HASHED: Final = hashlib.sha256()
#: Bytes of a body that is hashed while other threads wait; bytes that `hashlib` takes so.
_SHORT: Final = 2**14
_AT_ONCE: Final = 2047
#: What stands before that which the checksum covers.
SEAL_BYTES: Final = len(_MAGIC) + _DIGEST_BYTES
_LENGTH: Final = struct.Struct("<I")
#: Sizes in which memory is compared: most of a heap is as it was, so look at large parts first.
_PART: Final = 65536
_PAGE: Final = 4096
_BLOCK: Final = 256
#: Blocks of a page that may differ before each is stored as it is: looking for what is the same
#: in them takes longer than storing it.
_FEW: Final = 8
#: Bytes between two changes that are stored rather than beginning a new stretch.
_GAP: Final = 16
_CHANGES: Final = re.compile(rb"[^\0]+(?:\0{1,16}[^\0]+)*")
_WASM_PAGE: Final = 65536
#: More than any guest can have: what WebAssembly's 32-bit addresses allow.
MAX_BYTES: Final = 2**32

Memory = bytes | bytearray
Span = tuple[int, int]


def pack(heap: Heap, base: Heap, extra: dict[str, Any]) -> bytes:
    """Encode a heap.

    Args:
        heap: The heap to store.
        base: The base heap; `unpack` needs the same one.
        extra: Plain JSON data stored beside it.
    """
    differences = heap.differences
    if heap.memory is not base.memory or not isinstance(differences, Stretches):
        differences = _compared(heap.whole(), base)
    header = {"size": heap.size, "stack": heap.stack_pointer, "extra": extra}
    head = json.dumps(header, separators=(",", ":")).encode()
    return sealed(b"".join((_LENGTH.pack(len(head)), head)), differences.data)


def sealed(*body: bytes) -> bytes:
    """An image: a checksum, followed by the content, which may come in parts."""
    return b"".join((_MAGIC, _digest(*body), *body))


def compared(heap: Heap, base: Heap) -> Heap:
    """The same heap, which has no differences, as those from `base`."""
    return _differing(base, heap.stack_pointer, _compared(heap, base))


def _compared(heap: Heap, base: Heap) -> Stretches:
    memory, stack = heap.memory, heap.stack_pointer
    differences = (
        (max(start, stack), bytes(memory[max(start, stack) : end]))
        for start, end in _stretches(memory, base.memory, stack)
        if end > stack  # the memory below holds remains of other calls and other guests
    )
    return Stretches.of(differences, heap.size)


def difference(base: Heap, stack: int, size: int, stretches: bytes) -> Heap:
    """The heap of that size that differs from `base` by stretches, as an image has them."""
    return _differing(base, stack, Stretches(stretches, size))


def _differing(base: Heap, stack: int, differences: Stretches) -> Heap:
    return attrs.evolve(base, stack_pointer=stack, size=differences.size, differences=differences)


def unpack(
    data: bytes, base: Heap, max_bytes: int, *, apart: bool = True
) -> tuple[Heap, dict[str, Any]]:
    """Decode a heap.

    Args:
        data: A return value of `pack`, from an untrusted place.
        base: The same base heap as for `pack`.
        max_bytes: Largest heap to accept.
        apart: Take the differences apart, and so check them. `GuestMemory.load` checks them, too,
            and refuses a damaged heap by an `EngineFailure`.

    Returns:
        The heap, as the memory of `base` and what differs from it, and the extra data.

    Raises:
        ImageError: The data is damaged, or the heap is too large.
    """
    try:
        return _unpack(data, base, max_bytes, apart)
    except ImageError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError, struct.error) as error:
        raise ImageError(f"the image is damaged: {error}") from error


def _stretches(memory: Memory, reference: Memory, start: int) -> Iterator[Span]:
    """Start and end of the differences, in whole words; close ones are joined."""
    open_start = open_end = -1
    for first, last in _changes(memory, reference, start):
        if open_end < 0:
            open_start = first
        elif first - open_end > _GAP:
            yield open_start, open_end
            open_start = first
        open_end = last
    if open_end >= 0:
        yield open_start, open_end


def _changes(memory: Memory, reference: Memory, start: int) -> Iterator[Span]:
    before, nothing = memoryview(reference), memoryview(bytes(_PART))
    # `startswith` compares in place, where slices would be copied first.
    for part in range(start // _PART * _PART, len(memory), _PART):
        if memory.startswith(before[part : part + _PART] or nothing, part):
            continue
        for page in range(max(part, start // _PAGE * _PAGE), part + _PART, _PAGE):
            if page < len(reference):
                yield from _in_page(memory, before, page)
            elif not memory.startswith(nothing[:_PAGE], page):
                yield page, page + _PAGE  # all of it is new


def _in_page(memory: Memory, reference: memoryview, page: int) -> Iterator[Span]:
    if memory.startswith(reference[page : page + _PAGE], page):
        return
    differ = [
        block
        for block in range(page, page + _PAGE, _BLOCK)
        if not memory.startswith(reference[block : block + _BLOCK], block)
    ]
    for block in differ:
        if len(differ) > _FEW:
            yield block, block + _BLOCK
        else:
            yield from _in_block(memory, reference, block)


def _in_block(memory: Memory, reference: memoryview, block: int) -> Iterator[Span]:
    now, before = memory[block : block + _BLOCK], reference[block : block + _BLOCK]
    changed = int.from_bytes(now, "little") ^ int.from_bytes(before, "little")
    first, last = ((changed & -changed).bit_length() - 1) // 8, -(-changed.bit_length() // 8)
    if last - first <= 2 * _GAP:  # as in most blocks
        yield _in_words(block, first, last)
        return
    for found in _CHANGES.finditer(changed.to_bytes(_BLOCK, "little")):
        yield _in_words(block, *found.span())


def _in_words(block: int, first: int, last: int) -> Span:
    return block + first // WORD * WORD, block + -(-last // WORD) * WORD


def _unpack(data: bytes, base: Heap, max_bytes: int, apart: bool) -> tuple[Heap, dict[str, Any]]:
    body = _opened(data)
    (length,) = _LENGTH.unpack_from(data, body)
    start = body + _LENGTH.size + length
    header = json.loads(data[body + _LENGTH.size : start])
    size, stack, extra = (header[key] for key in ("size", "stack", "extra"))
    if type(size) is not int or size % _WASM_PAGE or not len(base.memory) <= size < MAX_BYTES:
        raise ValueError(f"its size is out of range: {size}")
    if size > max_bytes:
        raise ImageError(
            f"the image holds {size} bytes of guest memory, and memory_bytes={max_bytes} allows "
            "less; open it with a larger memory_bytes"
        )
    if type(stack) is not int or not 0 < stack <= base.stack_pointer:
        raise ValueError("its stack pointer is out of range")
    if not isinstance(extra, dict):
        raise ValueError("it has no extra data")  # noqa: TRY004 - reported as damage, like the rest
    differences = Stretches(data[start:], size)
    if apart:
        iter(differences)
    return _differing(base, stack, differences), extra


def _opened(data: bytes) -> int:
    """The offset of an image's content in the data; the checksum is verified first."""
    if not data.startswith(_MAGIC):
        raise ValueError("it is not a QuickJS image")
    if _digest(memoryview(data)[SEAL_BYTES:]) != data[len(_MAGIC) : SEAL_BYTES]:
        raise ValueError("its checksum does not match")
    return SEAL_BYTES


def _digest(*body: bytes | memoryview) -> bytes:
    digest = _NOTHING_HASHED.copy()
    for part in body:
        # A new hash, or much data at once, would let other threads run, at a cost.
        step = _AT_ONCE if len(part) <= _SHORT else len(part)
        for start in range(0, len(part), step):
            digest.update(part[start : start + step] if step < len(part) else part)
    return digest.digest()[:_DIGEST_BYTES]
