"""The scan of a guest's memory in WebAssembly: to the bit what the plain code in Python finds."""

from __future__ import annotations

import ctypes
import random
import struct
from collections.abc import Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import wasmtime
from hypothesis import given, settings
from hypothesis import strategies as st

from interpstack import BridgeSet, Cell, Limits
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.guest_memory import Heap, Workspace
from interpstack_quickjs.heap import scan
from interpstack_quickjs.heap.allocator import free_spans
from interpstack_quickjs.heap.base import Base
from interpstack_quickjs.heap.images import compared
from interpstack_quickjs.heap.scan import Scanner, scanned
from interpstack_quickjs.realm import QuickJSRealm
from interpstack_quickjs.webassembly.pages import address_of

_PAGE = 65536
_STACK = 8192
_SPACE = Workspace(_PAGE, 0)


@pytest.fixture(scope="module")
def scanner() -> Scanner:
    return Scanner()


def _base(seed: int, pages: int = 4, allocator: int = 0) -> Base:
    memory = bytes(_STACK) + random.Random(seed).randbytes(pages * _PAGE - _STACK)
    return Base("", Heap(memory, _STACK, _SPACE), 0, 0, 0, allocator)


_BASES = [_base(1), _base(2), _base(3, pages=5)]


def _guest(memory: bytearray, stack: int = _STACK) -> Any:
    """What a scanner asks of a guest."""

    def copy_to(address: int, size: int) -> int:
        ctypes.memmove(address + stack, address_of(memory) + stack, size - stack)
        return stack

    return SimpleNamespace(memory_bytes=len(memory), copy_to=copy_to, written=lambda base: None)


def _telling_guest(memory: bytearray, base: Base, more: Sequence[int] = ()) -> Any:
    """A guest that knows the pages that were written to, and takes some others for written."""
    before, pages = base.heap.memory, range(len(memory) // 4096)
    after = bytes(before).ljust(len(memory), b"\0")
    marks = bytes(
        memory[4096 * page : 4096 * page + 4096] != after[4096 * page : 4096 * page + 4096]
        or page in more
        for page in pages
    )

    def copy_runs(address: int, runs: Iterable[tuple[int, int]]) -> int:
        for start, end in runs:
            first = max(start, _STACK)
            if first < end:
                ctypes.memmove(address + first, address_of(memory) + first, end - first)
        return _STACK

    return SimpleNamespace(
        memory_bytes=len(memory), copy_runs=copy_runs, written=lambda memory: marks
    )


def _plain(memory: bytearray, base: Base, stack: int = _STACK) -> Heap:
    copy = bytearray(memory)
    base.wipe(copy)
    return compared(Heap(copy, stack, _SPACE), base.heap)


_spots = st.tuples(st.integers(0, 8 * _PAGE - 1), st.binary(min_size=1, max_size=50))
_runs = st.tuples(st.integers(0, 8 * _PAGE - 1), st.integers(1, 40), st.integers(1, 200))


@given(
    base=st.sampled_from(_BASES),
    grown=st.integers(0, 3),
    spots=st.lists(_spots),
    runs=st.lists(_runs, max_size=3),
)
@settings(deadline=None)
def test_the_same_is_found(
    scanner: Scanner,
    base: Base,
    grown: int,
    spots: list[tuple[int, bytes]],
    runs: list[tuple[int, int, int]],
) -> None:
    memory = bytearray(base.heap.memory) + bytearray(grown * _PAGE)
    size = len(memory)
    for at, data in spots:
        end = min(size, at % size + len(data))
        memory[at % size : end] = data[: end - at % size]
    for at, count, distance in runs:
        for place in range(at % size, min(size, at % size + count * distance), distance):
            memory[place] ^= 129
    expected = _plain(memory, base)
    assert scanner.scan(_guest(memory), base) == expected
    for more in ((), (1, 2, 50), ()):
        assert scanner.scan(_telling_guest(memory, base, more), base) == expected


@pytest.mark.parametrize("first", range(8))
@pytest.mark.parametrize("distance", [1, 15, 16, 17, 20, 23, 24, 28, 31, 32, 33, 40, 255, 256, 257])
def test_two_bytes_at_any_distance(scanner: Scanner, first: int, distance: int) -> None:
    for begin in (3 * _PAGE, 3 * _PAGE + 240, 3 * _PAGE + 4080):
        memory = bytearray(_BASES[0].heap.memory)
        memory[begin + first] ^= 1
        memory[begin + first + distance] ^= 128
        assert scanner.scan(_guest(memory), _BASES[0]) == _plain(memory, _BASES[0])


def test_nothing_below_the_stack_pointer_counts(scanner: Scanner) -> None:
    memory = bytearray(_BASES[0].heap.memory)
    memory[: _STACK + 100] = b"\xee" * (_STACK + 100)
    stack = _STACK + 96
    found = scanner.scan(_guest(memory, stack), _BASES[0])
    assert tuple(found.differences) == ((stack, b"\xee" * 4),)


# -- of real guests ------------------------------------------------------------------------

_CELLS = [
    "1",
    "let rows = Array.from({length: 3000}, (_, i) => ({i, s: 'x' + i})); 0",
    "const f = x => x + 1, m = new Map([[1, {a: 2}]]); rows.length = 10; 0",
    "{ const lost = []; for (let i = 0; i < 2000; i++) lost.push('secret'.repeat(i % 99)); } 0",
    "let large = new Uint8Array(4e6).fill(7); 0",
    "large = rows = null; 'abc'.repeat(1e5).length",
]


@pytest.fixture
def realm() -> Iterator[QuickJSRealm]:
    made = QuickJSEngine().open(Limits(), BridgeSet())
    assert isinstance(made, QuickJSRealm)
    yield made
    made.close()


def _run(realm: QuickJSRealm, source: str) -> None:
    progress = realm.start(Cell(source=source)).poll(0.0, 5.0)
    assert progress.completion is not None


def _wiped(realm: QuickJSRealm) -> Heap:
    heap = realm.live.guest.heap()
    assert isinstance(heap.memory, bytearray)
    realm.live.base.wipe(heap.memory)
    return compared(heap, realm.live.base.heap)


def test_guests_are_found_as_the_plain_code_finds_them(realm: QuickJSRealm) -> None:
    for source in _CELLS:
        _run(realm, source)
        assert scanned(realm.live.guest, realm.live.base) == _wiped(realm)


def test_ruined_lists_of_free_memory(realm: QuickJSRealm) -> None:
    _run(realm, _CELLS[1])
    heap, base = realm.live.guest.heap(), realm.live.base
    state, size = base.allocator, len(heap.memory)
    chunks = [start - 16 for start, _ in free_spans(heap.memory, state)][::9]
    places = [
        *range(state, state + 432, 4),
        *(at + word for at in chunks for word in range(0, 32, 4)),
    ]
    pick = random.Random(5)
    for address in places:
        word = pick.choice(
            [0, 1, 8, state, state + 48, size - 8, size, 2**31, 2**32 - 8, chunks[0]]
        )
        memory = bytearray(heap.memory)
        struct.pack_into("<I", memory, address, word)
        realm.live.guest.load(Heap(memory, heap.stack_pointer, heap.workspace))
        assert scanned(realm.live.guest, base) == _wiped(realm), (address - state, word)


@pytest.mark.parametrize("way", ["large", "no scanner"])
def test_images_without_a_scan_are_the_same(
    realm: QuickJSRealm, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(realm, _CELLS[1])
    image = realm.image()
    monkeypatch.setattr(scan, "_idle", type(scan._idle)())
    if way == "large":
        monkeypatch.setattr(scan, "MAX_BYTES", 0)
    else:
        monkeypatch.setattr(scan, "Scanner", _refused)
    assert scanned(realm.live.guest, realm.live.base) is None
    assert realm.image() == image


def _refused() -> Scanner:
    raise wasmtime.WasmtimeError("no room")


def test_reading_values_leaves_the_image_as_it_was(realm: QuickJSRealm) -> None:
    for source in (*_CELLS[:1], "let few = [1, {two: 3}], t = 'x'.repeat(9999); 0", "few = t; 0"):
        _run(realm, source)
        image = realm.image()
        realm.values()
        assert realm.image() == image
        realm.values()
        realm.names()
        assert scanned(realm.live.guest, realm.live.base) == _wiped(realm)
        assert realm.image() == image


def test_a_scanner_is_used_again(realm: QuickJSRealm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_idle", type(scan._idle)())
    realm.image()
    kept = list(scan._idle)
    realm.image()
    assert len(kept) == 1
    assert list(scan._idle) == kept
