"""The memory of a guest: copied, put back, and used to pass data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interpstack_core import EngineFailure
from interpstack_quickjs.guest import STATUS_OK, Guest
from interpstack_quickjs.guest_memory import WORKSPACE_BYTES, Heap, OutOfRoom

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


def test_a_copy_is_put_back_into_this_guest_and_into_another_one(guest: Guest) -> None:
    guest.evaluate("globalThis.kept = 'a'.repeat(300_000)")
    copy = guest.heap()
    assert copy.is_whole
    guest.evaluate("globalThis.kept = 1")
    guest.load(copy)
    assert _text(guest, "kept.length") == "300000"
    other = Guest(16 * _MIB)
    with other.runtime.ticker:
        other.load(copy)
        assert _text(other, "kept.length") == "300000"
    other.close()


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
