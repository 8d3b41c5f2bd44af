"""Copies of parts of a memory."""

from __future__ import annotations

from interpstack_quickjs.webassembly.pages import SHORT, Pages, address_of, memory_at

_MEMORY = bytearray(range(256)) * 64


def _parts(pages: Pages) -> list[tuple[int, bytes]]:
    return [(address, bytes(data)) for address, data in pages]


def test_a_copy_holds_the_parts_as_they_were() -> None:
    memory = bytearray(_MEMORY)
    pages = Pages(address_of(memory), [(0, 10), (4096, 8192)])
    memory[:] = bytes(len(memory))
    assert _parts(pages) == [(0, bytes(_MEMORY[:10])), (4096, bytes(_MEMORY[4096:8192]))]


def test_long_parts_are_copied_like_short_ones() -> None:
    memory = bytearray(_MEMORY) * 32
    long, short = (0, SHORT + 1), (SHORT + 4096, SHORT + 8192)
    pages = Pages(address_of(memory), [long, short])
    assert _parts(pages) == [(start, bytes(memory[start:end])) for start, end in (long, short)]


def test_a_copy_of_nothing() -> None:
    assert _parts(Pages(address_of(_MEMORY), [])) == []


def test_room_is_used_again_if_it_is_large_enough() -> None:
    address = address_of(_MEMORY)
    first = Pages(address, [(0, 8192)])
    smaller = Pages(address, [(100, 5000)], first)
    assert smaller.room is first.room
    assert _parts(smaller) == [(100, bytes(_MEMORY[100:5000]))]
    larger = Pages(address, [(0, 8193)], smaller)
    assert larger.room is not first.room
    assert _parts(larger) == [(0, bytes(_MEMORY[:8193]))]


def test_a_view_reads_and_writes_memory_in_place() -> None:
    memory = bytearray(_MEMORY)
    view = memory_at(address_of(memory) + 1, 3)
    assert bytes(view) == bytes(_MEMORY[1:4])
    view[1:3] = b"ab"
    assert memory[:5] == _MEMORY[:2] + b"ab" + _MEMORY[4:5]
