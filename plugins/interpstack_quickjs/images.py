"""The image codec: a heap as its difference from the base heap every realm starts with.

Pages of 4 KiB that differ are XORed with the base and compressed with zstd, which leaves a few
kilobytes of a small state where the whole heap has more than a megabyte.

Layout: `IQJ1`, the length of a JSON header (4 bytes, little endian), the header, the zstd frame.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, Final

import zstandard

from interpstack import ImageError
from interpstack_quickjs.guest import Heap

__all__ = ["pack", "unpack"]

_MAGIC: Final = b"IQJ1"
_PAGE: Final = 4096
_PART: Final = 65536
_HEAD: Final = struct.Struct("<4sI")
_LEVEL: Final = 3


def pack(
    heap: Heap, base: Heap, extra: dict[str, Any], scratch: Sequence[tuple[int, int]] = ()
) -> bytes:
    """Encode a heap.

    Args:
        heap: What to store. Its memory is changed where it means nothing.
        base: What `unpack` will be given.
        extra: Plain JSON data stored beside it.
        scratch: Start and end of parts of the memory that need not be stored.
    """
    memory, reference = bytearray(heap.memory), base.memory
    # Below the stack pointer lies what calls that have returned left behind.
    for start, end in ((0, heap.stack_pointer), *scratch):
        memory[start:end] = reference[start:end]
    pages = _changed_pages(bytes(memory), bytes(reference))
    changed = b"".join(memory[start : start + _PAGE] for start in pages)
    before = b"".join(_base_page(reference, start) for start in pages)
    header = {
        "size": len(memory),
        "stack": heap.stack_pointer,
        "pages": [start // _PAGE for start in pages],
        "extra": extra,
    }
    head = json.dumps(header, separators=(",", ":")).encode()
    body = zstandard.compress(_xor(changed, before), _LEVEL)
    return _HEAD.pack(_MAGIC, len(head)) + head + body


def _changed_pages(memory: bytes, reference: bytes) -> list[int]:
    """Starts of the pages that differ; most of a heap does not, so look at large parts first."""
    pages: list[int] = []
    for start in range(0, len(memory), _PART):
        if memory[start : start + _PART] == reference[start : start + _PART]:
            continue
        pages += [
            page
            for page in range(start, min(start + _PART, len(memory)), _PAGE)
            if memory[page : page + _PAGE] != _base_page(reference, page)
        ]
    return pages


def unpack(data: bytes, base: Heap, max_bytes: int) -> tuple[Heap, dict[str, Any]]:
    """Decode a heap.

    Args:
        data: What `pack` returned, from an untrusted place.
        base: As given to `pack`.
        max_bytes: Largest heap to accept.

    Raises:
        ImageError: The data is damaged or too large.
    """
    try:
        return _unpack(data, base, max_bytes)
    except (
        ValueError,
        KeyError,
        TypeError,
        RecursionError,
        struct.error,
        zstandard.ZstdError,
    ) as error:
        raise ImageError(f"the image is damaged: {error}") from error


def _unpack(data: bytes, base: Heap, max_bytes: int) -> tuple[Heap, dict[str, Any]]:
    magic, length = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise ValueError("it is no QuickJS image")
    header = json.loads(data[_HEAD.size : _HEAD.size + length])
    size, stack, pages, extra = (header[key] for key in ("size", "stack", "pages", "extra"))
    if type(size) is not int or size % 65536 or not len(base.memory) <= size <= max_bytes:
        raise ValueError(f"its size is out of range: {size}")
    if type(stack) is not int or not 0 < stack <= base.stack_pointer:
        raise ValueError("its stack pointer is out of range")
    if (
        not isinstance(extra, dict)
        or len(pages) > size // _PAGE
        or not all(type(page) is int and 0 <= page < size // _PAGE for page in pages)
    ):
        raise ValueError("its page table is out of range")
    total, frame = len(pages) * _PAGE, data[_HEAD.size + length :]
    if zstandard.frame_content_size(frame) > total:  # it would go before `max_output_size`
        raise ValueError("it holds more than its page table tells")
    body = zstandard.ZstdDecompressor().decompress(frame, max_output_size=total or 1)
    if len(body) != total:
        raise ValueError("it is cut short")
    reference = base.memory
    before = b"".join(_base_page(reference, page * _PAGE) for page in pages)
    changed = _xor(body, before)
    memory = bytearray(base.memory) + bytearray(size - len(base.memory))
    for index, page in enumerate(pages):
        memory[page * _PAGE : (page + 1) * _PAGE] = changed[index * _PAGE : (index + 1) * _PAGE]
    return Heap(memory, stack, base.workspace), extra


def _base_page(reference: bytes | bytearray, start: int) -> bytes:
    return bytes(reference[start : start + _PAGE]).ljust(_PAGE, b"\0")


def _xor(left: bytes, right: bytes) -> bytes:
    number = int.from_bytes(left, "little") ^ int.from_bytes(right, "little")
    return number.to_bytes(len(left), "little")
