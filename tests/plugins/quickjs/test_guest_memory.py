"""The memory of a guest: copied, put back, and used to pass data."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import attrs
import pytest

from interpstack import EngineFailure
from interpstack_quickjs import guest_memory
from interpstack_quickjs.guest import STATUS_OK, Guest
from interpstack_quickjs.guest_memory import WORKSPACE_BYTES, Heap, OutOfRoom
from interpstack_quickjs.heap.base import base_heaps
from interpstack_quickjs.heap.stretches import Stretches
from interpstack_quickjs.webassembly.instance import Instance
from interpstack_quickjs.webassembly.pages import Pages

_MIB = 2**20


@pytest.fixture
def guest() -> Iterator[Guest]:
    made = Guest(16 * _MIB)
    with made.runtime.ticker:
        yield made
    made.close()


def _text(guest: Guest, source: str) -> str | None:
    status, handle = guest.evaluate(f"String({source})")
    assert status == STATUS_OK
    return guest.string(handle)


@pytest.mark.parametrize("way", ["whole", "written", "from a view"])
def test_a_copy_is_put_back_into_this_guest_and_into_another_one(guest: Guest, way: str) -> None:
    if way == "from a view":
        guest.load(base_heaps.get(()).heap)
    guest.evaluate("globalThis.kept = 'a'.repeat(300_000)")
    copy = guest.heap() if way == "whole" else guest.written_heap()
    guest.evaluate("globalThis.kept = 1")
    guest.load(copy)
    assert _text(guest, "kept.length") == "300000"
    other = Guest(16 * _MIB)
    with other.runtime.ticker:
        other.load(copy)
        assert _text(other, "kept.length") == "300000"
    other.close()


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("source", ["'a'.repeat(10)", "new Uint8Array(5e6).fill(7)"])
def test_both_kinds_of_copies_have_the_same_memory(
    guest: Guest, monkeypatch: pytest.MonkeyPatch, source: str, tells: bool
) -> None:
    if not tells:
        monkeypatch.setattr(Instance, "written", lambda instance, start: None)
    guest.load(base_heaps.get(()).heap)
    guest.evaluate(f"globalThis.kept = {source}")
    whole, written = guest.heap(), guest.written_heap()
    assert (written.size, written.stack_pointer) == (whole.size, whole.stack_pointer)
    again, stack = written.whole(), whole.stack_pointer
    assert again.memory[stack:] == whole.memory[stack:]
    for heap in (written, whole, written):
        guest.evaluate("globalThis.kept = Array(1e5).fill('b'), 0")
        if guest.memory_bytes == heap.size:
            guest.load(heap)
            assert guest.heap() == whole
    assert whole.whole() is whole


def test_a_copy_of_a_view_has_only_what_was_written(guest: Guest) -> None:
    guest.load(base_heaps.get(()).heap)
    if guest._instance.written() is None:
        pytest.skip("this system does not tell")
    guest.evaluate("globalThis.kept = 1")
    copy = guest.written_heap()
    assert isinstance(copy.differences, Pages)
    assert 0 < len(copy.differences.room) < copy.size / 4
    assert copy.memory is base_heaps.get(()).heap.memory


def test_a_copy_larger_than_the_limit_is_refused(guest: Guest) -> None:
    heap = guest.heap()
    small = Guest(heap.size)
    large = Heap(bytes(heap.size + 65536), heap.stack_pointer, heap.workspace)
    with pytest.raises(EngineFailure, match="more than the memory limit"):
        small.load(large)
    small.close()


@pytest.mark.parametrize("length", [0, 1, WORKSPACE_BYTES - 65, WORKSPACE_BYTES, 2 * _MIB])
def test_data_of_any_length_is_passed(guest: Guest, length: int) -> None:
    assert _text(guest, f"'{'x' * length}'.length") == str(length)


def test_data_without_room_is_refused(guest: Guest) -> None:
    with pytest.raises(OutOfRoom, match=f"no room for {15 * _MIB} bytes"):
        guest.new_string("x" * (15 * _MIB))


def test_a_full_memory_has_no_room(guest: Guest) -> None:
    assert guest.has_room()
    guest.evaluate("globalThis.all = []; try { for (;;) all.push('x'.repeat(1e5)) } catch {}")
    guest.evaluate("try { for (;;) all.push('x' + all.length) } catch {}")
    assert not guest.has_room()


# -- differences ---------------------------------------------------------------------------


def _differing(parts: list[tuple[int, bytes]]) -> Heap:
    base = base_heaps.get(()).heap
    return attrs.evolve(base, differences=Stretches.of(parts, base.size))


@pytest.mark.parametrize("way", ["by a bundle", "one by one"])
def test_differences_are_written_either_way(
    guest: Guest, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "one by one":
        monkeypatch.setattr(guest_memory, "ASKS", False)
    base = base_heaps.get(()).heap
    end = base.size - 8
    parts = [(base.stack_pointer, b"from here"[:8]), (end - 64, b"in there"), (end, b"the end!")]
    heap = _differing(parts)
    guest.load(heap)
    assert guest.heap().memory[heap.stack_pointer :] == heap.whole().memory[heap.stack_pointer :]


@pytest.mark.parametrize("asks", [True, False])
def test_damaged_differences_are_refused(
    guest: Guest, monkeypatch: pytest.MonkeyPatch, asks: bool
) -> None:
    monkeypatch.setattr(guest_memory, "ASKS", asks and guest_memory.ASKS)
    heap = _differing([(4096 * 300, b"abcd")])
    for data in (heap.differences.data[:-1], struct.pack("<II", 2**30, 1) + bytes(4)):  # type: ignore[union-attr]
        with pytest.raises(EngineFailure, match="the state is damaged"):
            guest.load(attrs.evolve(heap, differences=Stretches(data, heap.size)))


def test_writing_differences_takes_no_time_of_the_guest(guest: Guest) -> None:
    """A guest whose time was up long ago, in another thread, can be put back."""
    guest.load(base_heaps.get(()).heap)
    guest.set_time(0.001)
    guest._deadline = -1e9
    guest.runtime.engine.increment_epoch()
    guest.runtime.engine.increment_epoch()
    guest.load(_differing([(4096 * 300, b"abcd")] * 50))
    assert guest.read(4096 * 300, 4) == b"abcd"
