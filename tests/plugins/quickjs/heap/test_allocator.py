"""Free memory of a guest: found, and kept out of images."""

from __future__ import annotations

import struct

import pytest

from interpstack import BridgeSet, Cell, Limits
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.heap.allocator import find_allocator, free_spans
from interpstack_quickjs.realm import QuickJSRealm


@pytest.fixture
def realm() -> QuickJSRealm:
    made = QuickJSEngine().open(Limits(), BridgeSet())
    assert isinstance(made, QuickJSRealm)
    return made


def run(realm: QuickJSRealm, source: str) -> str:
    progress = realm.start(Cell(source=source)).poll(0.0, 5.0)
    assert progress.completion is not None
    return progress.completion.text


def test_what_is_named_free_is_what_a_walk_over_all_chunks_finds(realm: QuickJSRealm) -> None:
    run(realm, "let kept = [], lost = []; for (let i = 0; i < 3000; i++) "
               "(i % 3 ? lost : kept).push('x'.repeat(i) + i); lost = null; 0")  # fmt: skip
    heap, state = realm.live.guest.heap(), realm.live.base.allocator
    _, _, _, top_bytes, least, _, top = struct.unpack_from("<7I", heap.memory, state)
    free, chunk = [], least + 8
    while chunk < top:
        head = struct.unpack_from("<I", heap.memory, chunk + 4)[0]
        if not head & 2:
            free.append(chunk + (head & ~7))
        chunk += head & ~7
    assert chunk == top
    found = sorted(end for _, end in free_spans(heap.memory, state))
    assert found == sorted([*free, top + top_bytes])
    assert len(found) > 100


def test_free_memory_may_hold_anything(realm: QuickJSRealm) -> None:
    """The allocator reads none of it: a realm goes on when it is all overwritten."""
    run(realm, "const rows = Array.from({length: 999}, (_, i) => ({i})); 'x'.repeat(1e5); 0")
    for _ in range(5):
        heap = realm.live.guest.heap()
        assert isinstance(heap.memory, bytearray)
        for start, end in free_spans(heap.memory, realm.live.base.allocator):
            heap.memory[start:end] = b"\xaa" * (end - start)
        realm.live.guest.load(heap)
        work = "rows.push(...rows.slice(0, 99).map(r => ({...r}))); JSON.stringify(rows).length > 0"
        assert run(realm, work) == "true"
    assert run(realm, "rows.length + ',' + rows.at(-1).i") == "1494,98"


def test_what_cells_threw_away_is_not_in_images(realm: QuickJSRealm) -> None:
    run(realm, "let sum = 0; 0")
    before = len(realm.image().data)
    for _ in range(3):
        run(realm, "{ const rows = Array.from({length: 2e4}, (_, i) => 'secret' + i * 7919); "
                   "sum += rows.length; } 0")  # fmt: skip
    data = realm.image().data
    assert b"secret" not in data
    assert len(data) < before + 30_000


def test_a_heap_in_disorder_has_no_free_memory(realm: QuickJSRealm) -> None:
    heap, state = realm.live.guest.heap(), realm.live.base.allocator
    assert isinstance(heap.memory, bytearray)
    for address in range(state, state + 432, 4):
        for word in (1, 2**31, 2**32 - 8, state):
            memory = bytearray(heap.memory)
            struct.pack_into("<I", memory, address, word)
            assert all(0 < s <= e <= len(memory) for s, e in free_spans(memory, state))
    assert free_spans(heap.memory, 0) == []


def test_memory_without_an_allocator() -> None:
    assert find_allocator(bytes(65536), 0) == 0
    assert find_allocator(b"", 0) == 0
