"""The WebAssembly engine of the process, and its clock."""

from __future__ import annotations

import os
import threading
import time
from typing import Final

import attrs
import wasmtime

from interpstack.contracts.errors import EngineFailure
from interpstack_wasm.addresses import (
    LEAST_BYTES,
    WIDE_BYTES,
    address_advice,
    address_room,
    is_narrow,
)
from interpstack_wasm.signals import TrapSignals

__all__ = ["TICK_SECONDS", "Ticker", "WasmHost", "wasm_host"]

#: Native stack that guest code may use; wasmtime takes less than 2 MiB, guest threads have more.
_STACK_BYTES: Final = 2 * 2**20 - 65536
#: Seconds between ticks of the clock that stops code which polls for no interrupt.
TICK_SECONDS: Final = 0.1
#: What a memory reserves where addresses are few.
_NARROW_BYTES: Final = 16 * 2**20
_NARROW_GUARD: Final = 2**16


class Ticker:
    """Raises the epoch of a wasmtime engine while guests run, in one thread.

    Args:
        engine: The engine.
        signals: Looked after before each guest.
    """

    def __init__(self, engine: wasmtime.Engine, signals: TrapSignals) -> None:
        self._engine = engine
        self._signals = signals
        self.start_anew()

    def start_anew(self) -> None:
        """Forget the thread, as the child of a fork must: it did not come along."""
        self._running = 0
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        self._signals.keep()
        with self._wake:
            self._running += 1
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._tick, name="interpstack-wasm-clock", daemon=True
                )
                self._thread.start()
            elif self._running == 1:
                self._wake.notify()

    def __exit__(self, *exc: object) -> None:
        with self._wake:
            self._running -= 1

    def _tick(self) -> None:
        while True:
            with self._wake:
                while not self._running:
                    self._wake.wait()
            time.sleep(TICK_SECONDS)
            self._engine.increment_epoch()


@attrs.frozen(eq=False, repr=False)
class WasmHost:
    """The engine that all modules of the process share, and its clock.

    Attributes:
        signals: What ends guests that cannot go on, without their host.
        narrow: Memories reserve few addresses; modules are compiled for one or the other.
    """

    engine: wasmtime.Engine
    ticker: Ticker
    signals: TrapSignals
    narrow: bool = False

    @property
    def variant(self) -> str:
        """Names these settings, for the cache of compiled modules."""
        return "narrow" if self.narrow else ""

    def explained(self, error: wasmtime.WasmtimeError | wasmtime.Trap) -> str:
        """The reason why a guest cannot be started."""
        text = str(error).partition("\n")[0]
        scarce = "mmap" in text or "memory" in text
        needed = _NARROW_BYTES if self.narrow else WIDE_BYTES
        advice = address_advice(needed) if scarce else ""
        return f"{text}; {advice}" if advice else text


_host: WasmHost | None = None
_lock = threading.Lock()


def _start_anew() -> None:
    """After a fork, in the child: a thread of the parent may have held the lock."""
    global _lock
    _lock = threading.Lock()
    if _host is not None:
        _host.ticker.start_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def wasm_host() -> WasmHost:
    """The shared engine, made on first use.

    Raises:
        EngineFailure: The process has too few addresses for it.
    """
    global _host
    with _lock:
        if _host is None:
            _check_addresses()
            config = wasmtime.Config()
            config.epoch_interruption = True
            config.max_wasm_stack = _STACK_BYTES
            narrow = is_narrow()
            if narrow:
                config.memory_reservation = _NARROW_BYTES
                config.memory_reservation_for_growth = _NARROW_BYTES
                config.memory_guard_size = _NARROW_GUARD
            signals = TrapSignals()
            engine = signals.made(lambda: wasmtime.Engine(config))
            _host = WasmHost(engine, Ticker(engine, signals), signals, narrow)
        return _host


def _check_addresses() -> None:
    room = address_room()
    if room is not None and room < LEAST_BYTES:
        raise EngineFailure(f"WebAssembly cannot be started: {address_advice(LEAST_BYTES)}")
