"""Tests of interpstack_wasm.host."""

from __future__ import annotations

import threading
from typing import Any

import attrs
import pytest
import wasmtime

from interpstack import EngineFailure
from interpstack_wasm import host as module
from interpstack_wasm.host import Ticker, wasm_host
from interpstack_wasm.signals import TrapSignals


class Clock:
    """Counts the ticks that an engine gets."""

    def __init__(self) -> None:
        self.ticked = threading.Semaphore(0)
        self.threads: set[threading.Thread] = set()

    def increment_epoch(self) -> None:
        self.threads.add(threading.current_thread())
        self.ticked.release()

    def ticks(self, number: int = 1) -> bool:
        return all(self.ticked.acquire(timeout=60) for _ in range(number))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(module, "TICK_SECONDS", 0.001)
    return Clock()


def test_it_ticks_while_guests_run(clock: Clock) -> None:
    ticker = Ticker(clock, TrapSignals())  # type: ignore[arg-type]
    assert not clock.threads, "nothing runs yet"
    with ticker, ticker:
        assert clock.ticks(3)
    (thread,) = clock.threads
    assert (thread.daemon, thread.name) == (True, "interpstack-wasm-clock")
    with ticker:
        assert clock.ticks(3)
    assert clock.threads == {thread}, "one thread for all guests"


def test_it_rests_while_no_guest_runs(clock: Clock) -> None:
    ticker = Ticker(clock, TrapSignals())  # type: ignore[arg-type]
    with ticker:
        assert clock.ticks()
    last = 0
    while clock.ticked.acquire(timeout=0.2):  # of a tick that had begun
        last += 1
        assert last < 1000, "it goes on"


def test_a_forked_child_gets_a_thread_of_its_own(clock: Clock) -> None:
    ticker = Ticker(clock, TrapSignals())  # type: ignore[arg-type]
    with ticker:
        assert clock.ticks()
    ticker.start_anew()
    with ticker:
        while len(clock.threads) < 2:
            assert clock.ticks()


def test_the_engine_is_made_once() -> None:
    assert wasm_host() is wasm_host()
    assert wasm_host().variant == ("narrow" if wasm_host().narrow else "")


def test_a_loop_without_an_end_is_stopped_by_the_clock() -> None:
    host = wasm_host()
    endless = wasmtime.Module(host.engine, wasmtime.wat2wasm('(func (export "f") (loop br 0))'))
    store = wasmtime.Store(host.engine)
    store.set_epoch_deadline(2)
    function: Any = wasmtime.Instance(store, endless, []).exports(store)["f"]
    with host.ticker, pytest.raises(wasmtime.Trap) as caught:
        function(store)
    assert caught.value.trap_code is wasmtime.TrapCode.INTERRUPT


@pytest.mark.parametrize(
    ("found", "narrow", "needed"),
    [
        ("mmap failed: 12\nbacktrace", False, module.WIDE_BYTES),
        ("out of memory", True, module._NARROW_BYTES),
        ("bad magic number", False, None),
    ],
)
def test_only_a_lack_of_addresses_is_explained(
    monkeypatch: pytest.MonkeyPatch, found: str, narrow: bool, needed: int | None
) -> None:
    monkeypatch.setattr(module, "address_advice", lambda count: f"raise it by {count}")
    made = attrs.evolve(wasm_host(), narrow=narrow)
    expected = found.partition("\n")[0]
    if needed is not None:
        expected += f"; raise it by {needed}"
    assert made.explained(wasmtime.WasmtimeError(found)) == expected


def test_no_advice_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "address_advice", lambda count: "")
    assert wasm_host().explained(wasmtime.WasmtimeError("mmap failed")) == "mmap failed"


def test_too_few_addresses_are_reported_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_host", None)
    monkeypatch.setattr(module, "address_room", lambda: module.LEAST_BYTES - 1)
    monkeypatch.setattr(module, "address_advice", lambda count: f"raise it by {count}")
    with pytest.raises(EngineFailure, match=f"cannot be started: raise it by {module.LEAST_BYTES}"):
        wasm_host()
    assert module._host is None


def test_where_addresses_are_few_memories_reserve_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_host", None)
    monkeypatch.setattr(module, "is_narrow", lambda: True)
    made = wasm_host()
    assert (made.narrow, made.variant) == (True, "narrow")
