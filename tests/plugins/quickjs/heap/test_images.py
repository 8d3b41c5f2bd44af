"""The image codec: exact, small, and never more than an `ImageError` away from harm."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import hashlib
import json
import random
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpstack import BridgeSet, Cell, Image, ImageError, Limits
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.guest_memory import Heap, Workspace
from interpstack_quickjs.heap.images import SEAL_BYTES, pack, sealed, unpack

_PAGE = 65536
_SPACE = Workspace(0, 0)
_BASE = Heap(bytes(range(256)) * 512, 1000, _SPACE)  # two pages of WebAssembly
_LIMIT = 16 * _PAGE

_changes = st.dictionaries(st.integers(0, 4 * _PAGE - 1), st.integers(0, 255), max_size=20)


def _changed(changes: dict[int, int], grown: int) -> Heap:
    memory = bytearray(_BASE.memory) + bytearray(grown * _PAGE)
    for at, value in changes.items():
        memory[at % len(memory)] = value
    return Heap(memory, 1000, _SPACE)


def _memory(heap: Heap) -> bytes:
    """A heap's memory with its differences in it."""
    memory = bytearray(heap.memory) + bytearray(heap.size - len(heap.memory))
    for address, data in heap.differences:
        memory[address : address + len(data)] = data
    return bytes(memory)


@given(_changes, st.integers(0, 3), st.dictionaries(st.text(), st.text(), max_size=3))
def test_round_trip(changes: dict[int, int], grown: int, extra: dict[str, str]) -> None:
    heap = _changed(changes, grown)
    found, seen = unpack(pack(heap, _BASE, extra), _BASE, _LIMIT)
    start = heap.stack_pointer  # what lies below it means nothing
    assert _memory(found)[start:] == bytes(heap.memory)[start:]
    assert (found.size, found.stack_pointer, seen) == (len(heap.memory), 1000, extra)


def _difference(changes: dict[int, int]) -> dict[int, int]:
    """What comes back of bytes that were changed."""
    found, _ = unpack(pack(_changed(changes, 0), _BASE, {}), _BASE, _LIMIT)
    memory = _memory(found)
    return {at: memory[at] for at in range(1000, len(memory)) if memory[at] != _BASE.memory[at]}


@pytest.mark.parametrize("at", [*range(70_000, 70_012), 69_887, 69_888, 2**17 - 1])
@pytest.mark.parametrize("bit", range(8))
def test_every_bit_comes_back(at: int, bit: int) -> None:
    changes = {at: _BASE.memory[at] ^ 1 << bit}
    assert _difference(changes) == changes


@pytest.mark.parametrize("distance", [1, 4, 16, 17, 24, 28, 32, 33, 100, 256, 4096])
@pytest.mark.parametrize("count", [2, 40])
def test_bytes_at_any_distance_come_back(distance: int, count: int) -> None:
    places = [at for at in range(70_003, 70_003 + count * distance, distance) if at < 2**17]
    changes = {at: _BASE.memory[at] ^ 129 for at in places}
    assert _difference(changes) == changes


def test_nothing_below_the_stack_pointer_is_stored() -> None:
    assert not _difference({at: _BASE.memory[at] ^ 255 for at in range(1000)})
    assert b"secret" not in pack(_changed(dict(enumerate(b"secret", 990)), 0), _BASE, {})


def test_an_unchanged_heap_is_nearly_nothing() -> None:
    assert len(pack(_BASE, _BASE, {})) < 100


def test_few_changes_are_small() -> None:
    assert len(pack(_changed({5000: 0, 70_001: 0}, 2), _BASE, {})) < 100


def test_changes_next_to_each_other_are_one_stretch() -> None:
    changes = {at: _BASE.memory[at] ^ 255 for at in (70_000, 70_009, 70_050)}
    found, _ = unpack(pack(_changed(changes, 0), _BASE, {}), _BASE, _LIMIT)
    assert [(at, len(data)) for at, data in found.differences] == [(70_000, 12), (70_048, 4)]


_GOOD = pack(_changed({5000: 9, 70_000: 9, 140_000: 9}, 1), _BASE, {"cell": "x"})


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 30, *range(len(_GOOD) - 40, len(_GOOD), 7)])
def test_truncated(length: int) -> None:
    with pytest.raises(ImageError, match="the image is damaged"):
        unpack(_GOOD[:length], _BASE, _LIMIT)


@given(st.integers(0, len(_GOOD) - 1), st.integers(1, 255))
@settings(max_examples=400)
def test_flipped_bytes(at: int, flip: int) -> None:
    data = bytearray(_GOOD)
    data[at] ^= flip
    with pytest.raises(ImageError, match="the image is damaged"):
        unpack(bytes(data), _BASE, _LIMIT)


@given(st.integers(SEAL_BYTES, len(_GOOD) - 1), st.integers(1, 255))
@settings(max_examples=400)
def test_flipped_bytes_behind_a_right_checksum(at: int, flip: int) -> None:
    data = bytearray(_GOOD[SEAL_BYTES:])
    data[at - SEAL_BYTES] ^= flip
    try:
        heap, extra = unpack(sealed(bytes(data)), _BASE, _LIMIT)
    except ImageError:
        return
    assert len(_memory(heap)) == heap.size <= _LIMIT
    assert isinstance(extra, dict)


@pytest.mark.parametrize("length", [0, 1, 2046, 2047, 2048, 4094, 4095, 2**14, 2**14 + 1, 50_000])
def test_the_checksum_is_the_beginning_of_sha256(length: int) -> None:
    body = random.Random(length).randbytes(length)
    image = sealed(body)
    assert image == b"IQJ3" + hashlib.sha256(body).digest()[:16] + body


def test_images_without_a_checksum_are_refused() -> None:
    with pytest.raises(ImageError):
        unpack(b"IQJ2" + _GOOD[SEAL_BYTES:], _BASE, _LIMIT)


@given(st.binary(max_size=200))
def test_nonsense(data: bytes) -> None:
    for candidate in (data, b"IQJ2" + data, b"IQJ3" + data, sealed(data)):
        with pytest.raises(ImageError):
            unpack(candidate, _BASE, _LIMIT)


def _forge(*stretches: tuple[int, int, bytes], **header: Any) -> bytes:
    head = {"size": 2 * _PAGE, "stack": 1000, "extra": {}, **header}
    text = json.dumps({k: v for k, v in head.items() if v is not ...}).encode()
    parts = [struct.pack("<II", start, length) + data for start, length, data in stretches]
    return sealed(struct.pack("<I", len(text)) + text + b"".join(parts))


def test_the_forger_can_be_right() -> None:
    heap, extra = unpack(_forge(), _BASE, _LIMIT)
    assert (_memory(heap), extra) == (bytes(_BASE.memory), {})


@pytest.mark.parametrize(
    "header",
    [
        {"size": ...}, {"size": None}, {"size": "x"}, {"size": True}, {"size": 0}, {"size": -_PAGE},
        {"size": 2 * _PAGE + 1}, {"size": _PAGE}, {"size": 2**62}, {"size": 1e300}, {"size": 17 * _PAGE},
        {"stack": ...}, {"stack": 0}, {"stack": -1}, {"stack": 1001}, {"stack": 2**40}, {"stack": "x"},
        {"extra": None}, {"extra": []}, {"extra": ...}, {"size": [[[]]]},
    ],
    ids=lambda header: str(header)[:40],
)  # fmt: skip
def test_forged_headers(header: dict[str, Any]) -> None:
    with pytest.raises(ImageError):
        unpack(_forge(**header), _BASE, _LIMIT)


@pytest.mark.parametrize(
    "stretch",
    [
        (0, 2, b"1234"),
        (2 * _PAGE // 4, 1, b"1234"),
        (2 * _PAGE // 4 - 1, 2, b"12345678"),
        (2**32 - 1, 1, b"1234"),
        (0, 2**32 - 1, b"1234"),
    ],
)
def test_forged_stretches(stretch: tuple[int, int, bytes]) -> None:
    with pytest.raises(ImageError):
        unpack(_forge(stretch), _BASE, _LIMIT)


def test_a_deeply_nested_header() -> None:
    text = b'{"size":' + b"[" * 100_000
    with pytest.raises(ImageError):
        unpack(sealed(struct.pack("<I", len(text)) + text), _BASE, _LIMIT)


# -- images of realms ----------------------------------------------------------------------


def _run(realm: Any, source: str) -> Any:
    progress = realm.start(Cell(source=source)).poll(0.0, 2.0)
    assert progress.completion is not None
    return progress.completion.text


def test_images_of_realms_are_small_and_exact() -> None:
    engine = QuickJSEngine()
    realm = engine.open(Limits(), BridgeSet())
    _run(
        realm,
        "const f = x => x + 1, m = new Map([[1, {a: 2}]]); class P { v = 3 }; let p = new P; 0",
    )
    image = realm.image()
    assert len(image.data) < 20_000
    other = QuickJSEngine().open(Limits(), BridgeSet(), image)
    assert (
        _run(other, "[f(1), m, p, p instanceof P]") == "[2, Map(1) {1 => {a: 2}}, P {v: 3}, true]"
    )
    _run(other, "p.v = 4")
    assert _run(realm, "p.v") == "3"
    realm.close()
    other.close()


@pytest.mark.parametrize("engine", ["v8", ""])
def test_images_of_other_engines_are_refused(engine: str) -> None:
    made = QuickJSEngine()
    realm = made.open(Limits(), BridgeSet())
    image = realm.image()
    realm.close()
    with pytest.raises(ImageError, match="the image was made by engine"):
        made.open(Limits(), BridgeSet(), Image(engine, image.base, image.data))
    with pytest.raises(ImageError, match="another build"):
        made.open(Limits(), BridgeSet(), Image("quickjs", "0" * 32, image.data))
    with pytest.raises(ImageError, match="damaged"):
        made.open(Limits(), BridgeSet(), Image("quickjs", image.base, b""))


def test_an_image_larger_than_the_limit_is_refused() -> None:
    engine = QuickJSEngine()
    realm = engine.open(Limits(), BridgeSet())
    _run(realm, "globalThis.a = new Uint8Array(8e6).fill(1); 0")
    image = realm.image()
    realm.close()
    with pytest.raises(ImageError, match=f"memory_bytes={4 * 2**20} allows less; open it"):
        engine.open(Limits(memory_bytes=4 * 2**20), BridgeSet(), image)
