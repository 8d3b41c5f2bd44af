"""Calls of the guest that one call of the host makes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpstack_quickjs.guest import _ROOM, STATUS_JS_ERROR, STATUS_OK, Guest
from interpstack_quickjs.guest_memory import WORKSPACE_BYTES
from interpstack_quickjs.heap.stretches import Stretches
from interpstack_quickjs.webassembly.bundles import BUNDLES, bundles_of
from interpstack_quickjs.webassembly.instance import Instance
from interpstack_quickjs.webassembly.machine import CpuLimitReached
from interpstack_quickjs.webassembly.raw_calls import export_of
from interpstack_quickjs.webassembly.runtime import guest_runtime


@pytest.fixture
def guest() -> Iterator[Guest]:
    made = Guest(16 * 2**20)
    with made.runtime.ticker:
        yield made
    made.close()


def _function(guest: Guest, source: str) -> int:
    status, handle = guest.evaluate(f"({source})")
    assert status == STATUS_OK
    return handle


def _text(guest: Guest, source: str) -> str | None:
    status, handle = guest.evaluate(f"String({source})")
    assert status == STATUS_OK
    return guest.string(handle)


def test_all_bundles_are_exported() -> None:
    instance = Instance(guest_runtime())
    made = bundles_of(
        instance.store, lambda name: export_of(instance.store, instance._instance, name)
    )
    assert {*made.exports(instance.store)} == BUNDLES
    instance.close()


@pytest.mark.parametrize(
    "text",
    ["", "plain", "ünï 🎈", *("x" * n for n in (_ROOM - 1, _ROOM, _ROOM + 1, 2 * WORKSPACE_BYTES))],
)
def test_an_answer_is_the_text_that_a_function_returns(guest: Guest, text: str) -> None:
    echo = _function(guest, "(text) => text + text.length")
    length = len(text.encode("utf-16-le")) // 2
    for _ in range(3):
        assert guest.ask(echo, text) == (STATUS_OK, f"{text}{length}")
    assert guest.ask(_function(guest, "() => ''"), text) == (STATUS_OK, "")


@pytest.mark.parametrize("value", ["undefined", "null", "7", "({})", "Symbol()"])
def test_other_values_are_no_answer(guest: Guest, value: str) -> None:
    assert guest.ask(_function(guest, f"() => {value}"), "x") == (STATUS_OK, None)


def test_an_answer_may_be_an_error(guest: Guest) -> None:
    status, text = guest.ask(_function(guest, "(text) => { throw new Error(text) }"), "no")
    assert (status, text) == (STATUS_JS_ERROR, None)
    assert _text(guest, "1 + 1") == "2"


@pytest.mark.parametrize("size", [1, 1023, 1024, 1025, _ROOM - 1, _ROOM, _ROOM + 1])
def test_answers_of_any_length_are_whole(guest: Guest, size: int) -> None:
    repeat = _function(guest, "(size) => 'é'.repeat(size / 2) + 'x'.repeat(size % 2)")
    for _ in range(3):
        assert guest.ask(repeat, str(size)) == (STATUS_OK, "é" * (size // 2) + "x" * (size % 2))


def test_what_is_reported_runs_all_jobs(guest: Guest) -> None:
    add = "async (text) => { for (let i = 0; i < 50; i++) { await null; told += text } }"
    guest.evaluate("globalThis.told = ''")
    assert guest.tell(_function(guest, add), "ab", _function(guest, "() => false"))
    assert _text(guest, "told") == "ab" * 50


def test_jobs_run_between_what_is_reported_and_all_that_follows(guest: Guest) -> None:
    guest.evaluate("globalThis.told = ''; globalThis.left = 3")
    note = "async (text) => { told += text; await null; told += '.' }"
    more = f"() => {{ if (left-- === 0) return false; ({note})(left); return true }}"
    assert guest.tell(_function(guest, note), "x", _function(guest, more))
    assert _text(guest, "told") == "x.2.1.0."
    fails = f"() => {{ ({note})('y'); throw 1 }}"
    assert not guest.tell(_function(guest, note), "x", _function(guest, fails))
    assert _text(guest, "told") == "x.2.1.0.x.y"


def test_more_jobs_than_run_at_once_come_before_what_follows(guest: Guest) -> None:
    guest.evaluate("globalThis.told = []; globalThis.left = 1")
    many = "async () => { for (let i = 0; i < 150000; i++) await null; told.push('many') }"
    more = "() => { told.push('more'); return left-- > 0 }"
    assert guest.tell(_function(guest, many), "", _function(guest, more))
    assert _text(guest, "told") == "many,more,more"


def test_a_function_that_fails_runs_no_jobs(guest: Guest) -> None:
    guest.evaluate("globalThis.told = 0")
    fails = "() => { Promise.resolve().then(() => { told = 1 }); throw 1 }"
    assert not guest.tell(_function(guest, fails), "x", _function(guest, "() => false"))
    assert _text(guest, "told") == "0"


def test_jobs_without_an_end_are_stopped(guest: Guest) -> None:
    function = _function(guest, "() => { const go = () => Promise.resolve().then(go); go() }")
    guest.set_time(0.05)
    with pytest.raises(CpuLimitReached):
        guest.tell(function, "x", _function(guest, "() => false"))
    assert guest.interrupted


def test_handles_are_given_back(guest: Guest) -> None:
    """Neither results nor arguments stay behind, whatever the call comes to."""
    functions = [_function(guest, one) for one in ("t => t + t", "() => 5", "() => { throw {} }")]
    sizes = []
    for _ in range(3):
        for _ in range(2000):
            for function in functions:
                guest.ask(function, "x" * 500)
                guest.tell(function, "x" * 500, functions[1])
        guest.call("run_gc")
        sizes.append(guest.memory_bytes)
    assert sizes[0] == sizes[-1]


# -- stretches of memory ---------------------------------------------------------------------

_START, _SIZE = 8192, 65536
_words = st.binary(min_size=4, max_size=64).map(lambda data: data[: len(data) // 4 * 4])
_places = st.integers(_START // 4, _SIZE // 4 - 16).map(lambda word: 4 * word)


def _apply(guest: Guest, data: bytes) -> bool:
    """Apply stretches that are passed right below the start, with memory of known content."""
    address = (_START - len(data)) & -16
    guest.write(bytes(range(256)) * ((_SIZE - _START) // 256), _START)
    guest.write(data, address)
    return guest.call_untimed("apply", address, len(data), _START, _SIZE) == 1


def _expected(parts: list[tuple[int, bytes]]) -> bytes:
    memory = bytearray(_START) + bytes(range(256)) * ((_SIZE - _START) // 256)
    for at, data in parts:
        memory[at : at + len(data)] = data
    return bytes(memory[_START:])


@given(parts=st.lists(st.tuples(_places, _words), max_size=20))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_stretches_are_copied_in_their_order(guest: Guest, parts: list[tuple[int, bytes]]) -> None:
    assert _apply(guest, Stretches.of(parts, _SIZE).data)
    assert guest.read(_START, _SIZE - _START) == _expected(parts)


@pytest.mark.parametrize(
    "damaged",
    [
        struct.pack("<II", _START // 4 - 1, 1) + b"abcd",  # below the start
        struct.pack("<II", 0, 2) + bytes(8),
        struct.pack("<II", _SIZE // 4 - 1, 2) + bytes(8),  # behind the end
        struct.pack("<II", _SIZE // 4, 1) + bytes(4),
        struct.pack("<II", 2**32 - 1, 1) + bytes(4),
        struct.pack("<II", 2**30, 1) + bytes(4),  # whose address in bytes is too large for a word
        struct.pack("<II", _START // 4, 2**30) + bytes(4),
        struct.pack("<II", _START // 4, 2) + bytes(4),  # cut short
        struct.pack("<II", _START // 4, 2**32 - 1),
        b"abcd",
        b"abc",
    ],
)
def test_of_damaged_stretches_none_is_copied(guest: Guest, damaged: bytes) -> None:
    good = Stretches.of([(_START + 64, b"good")], _SIZE).data
    assert _apply(guest, good)
    for data in (damaged, good + damaged, damaged + good):
        assert not _apply(guest, data)
        assert guest.read(_START, _SIZE - _START) == _expected([])


def test_stretches_must_lie_below_the_start(guest: Guest) -> None:
    data = Stretches.of([(_START + 64, b"good")], _SIZE).data
    for address in (_START - len(data) + 4, _START, 2**31 - 4):
        assert guest.call_untimed("apply", address, len(data), _START, _SIZE) == 0
    assert guest.call_untimed("apply", -8, 16, _START, _SIZE) == 0
