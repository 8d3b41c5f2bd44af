"""An instance of WebAssembly: its memory, and the time it may take."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from interpstack import EngineFailure
from interpstack_quickjs.guest import STATUS_JS_ERROR, STATUS_OK, Guest
from interpstack_quickjs.webassembly.machine import CpuLimitReached, Machine, Trapped


@pytest.fixture
def guest() -> Iterator[Guest]:
    made = Guest(16 * 2**20)
    with made.runtime.ticker:
        yield made
    made.close()


def _text(guest: Guest, source: str) -> str | None:
    status, handle = guest.evaluate(f"String({source})")
    assert status == STATUS_OK, guest.string(guest.get(handle, "message"))
    return guest.string(handle)


def test_memory_outside_is_refused(guest: Guest) -> None:
    for address, length in ((-1, 1), (0, -1), (guest.memory_bytes, 1), (2**31, 2**31)):
        with pytest.raises(EngineFailure, match="memory it does not have"):
            guest.read(address, length)


def test_builtins_that_do_not_poll_are_stopped(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interpstack_quickjs.webassembly.machine._GRACE_SECONDS", 0.1)
    guest.set_time(0.05)
    with pytest.raises(Trapped) as caught:
        guest.evaluate("Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)")
    assert caught.value.by_clock
    assert not caught.value.by_recursion


def test_recursion_traps(guest: Guest) -> None:
    with pytest.raises(Trapped) as caught:
        guest.evaluate("function r() { return r() + 1; }; r()")
    assert caught.value.by_recursion
    assert not caught.value.by_clock


def test_interrupting_from_another_thread(guest: Guest) -> None:

    guest.set_time(30)
    timer = threading.Timer(0.05, guest.interrupt)
    timer.start()
    status, _ = guest.evaluate("for (;;);")
    timer.join()
    assert (status, guest.interrupted) == (STATUS_JS_ERROR, True)


def test_a_machine_is_closed_once_and_used_no_more() -> None:
    machine = Machine(2**24)
    assert machine.memory_bytes > 0
    machine.close()
    machine.close()
    assert (machine.memory_bytes, machine.release()) == (0, None)
    with pytest.raises(EngineFailure, match="the guest was closed"):
        machine.set_time(1.0)
    with pytest.raises(EngineFailure, match="memory it does not have: 0\\+1"):
        machine.read(0, 1)


@pytest.mark.parametrize("data", [b"", b"abc", bytearray(b"abc"), bytearray()])
def test_data_goes_into_memory_from_an_index_on(guest: Guest, data: bytes) -> None:
    address = guest.call("qjs_alloc", 64)
    guest.write(b"-" * 8, address)
    guest.write(data, address, min(1, len(data)))
    assert guest.read(address, 8) == bytes(data[1:]).ljust(8, b"-")


def test_text_of_a_guest_may_be_anything(guest: Guest) -> None:
    address = guest.call("qjs_alloc", 64)
    guest.write(b"a\xff\xc3\xa9", address)
    assert guest.text(address, 4) == "a\ufffdé"


def test_time_that_is_left(guest: Guest) -> None:
    guest.set_time(None)
    assert guest.left() is None
    assert not guest.poll_interrupt()
    guest.set_time(60.0)
    left = guest.left()
    assert left is not None
    assert 50.0 < left <= 60.0
    guest.set_time(0.0)
    with pytest.raises(CpuLimitReached):
        guest.pause()
    guest.set_time(60.0)
    guest.pause()
    assert not guest.interrupted


def test_an_interruption_lasts_until_the_clock_is_set(guest: Guest) -> None:
    guest.set_time(None)
    guest.interrupt()
    with pytest.raises(CpuLimitReached):
        guest.pause()
    assert guest.interrupted
    guest.set_time(None)
    guest.pause()


def test_a_built_in_has_some_ticks_after_an_interruption(guest: Guest) -> None:
    guest.set_time(None)
    assert not any(guest.tick() for _ in range(20))
    guest.interrupt()
    assert [guest.tick() for _ in range(6)] == [False] * 5 + [True]


def test_who_looks_on_is_called_until_nobody_does(guest: Guest) -> None:
    seen: list[Guest] = []
    guest.set_time(None)
    guest.look_on(seen.append)
    guest.poll_interrupt()
    guest.look_on(None)
    guest.poll_interrupt()
    assert seen == [guest]
