"""What all guests of a process share: the compiled module, its imports, and a clock.

The guest has no system interface at all. The functions of WASI it imports are stubs that fail,
but for clock and random, which are constant: so an instance's memory depends on nothing but the
code that ran in it, and time and chance come from the host through the kernel.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import wasmtime

from interpstack import EngineFailure
from interpstack_quickjs.compiled import Compiled, load_module

if TYPE_CHECKING:
    from interpstack_quickjs.guest import Guest

__all__ = ["TICK_SECONDS", "GuestRuntime", "current", "guest_path", "guest_runtime"]

#: Native stack that guest code may use; wasmtime takes less than 2 MiB, guest threads have more.
_STACK_BYTES: Final = 2 * 2**20 - 65536
#: Seconds between ticks of the clock that stops code which polls for no interrupt.
TICK_SECONDS: Final = 0.1


class _Ticker:
    """Raises the epoch of a wasmtime engine while guests run, in one thread."""

    def __init__(self, engine: wasmtime.Engine) -> None:
        self._engine = engine
        self._running = 0
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        with self._wake:
            self._running += 1
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._tick, name="interpstack-quickjs-clock", daemon=True
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


@attrs.frozen
class GuestRuntime:
    """What all instances of the process share."""

    engine: wasmtime.Engine
    compiled: Compiled
    linker: wasmtime.Linker
    ticker: _Ticker


#: Its `guest` is the one that runs in this thread; imports know their caller by it.
current = threading.local()


@cache
def guest_path(name: str = "_guest.wasm") -> Path:
    """Where quickjs-rs keeps a WebAssembly file; the package itself is not imported.

    Raises:
        EngineFailure: quickjs-rs is missing or has no such file.
    """
    spec = find_spec("quickjs_rs")
    if spec is None or not spec.origin:
        raise EngineFailure(
            "quickjs-rs is not installed; run: pip install 'quickjs-rs>=0.2.6,<0.3'"
        )
    path = Path(spec.origin).with_name(name)
    if not path.is_file():
        found = version("quickjs-rs")
        raise EngineFailure(
            f"quickjs-rs {found} has no {name}; run: pip install 'quickjs-rs>=0.2.6,<0.3'"
        )
    return path


_runtime: GuestRuntime | None = None
_runtime_lock = threading.Lock()


def guest_runtime() -> GuestRuntime:
    """The shared compiled guest; compiled on first use, or loaded from the cache."""
    global _runtime
    if _runtime is None:
        with _runtime_lock:
            if _runtime is None:
                _runtime = _make_runtime()
    return _runtime


def _make_runtime() -> GuestRuntime:
    config = wasmtime.Config()
    config.epoch_interruption = True
    config.max_wasm_stack = _STACK_BYTES
    engine = wasmtime.Engine(config)
    compiled = load_module(engine, guest_path())
    return GuestRuntime(engine, compiled, _make_linker(engine), _Ticker(engine))


def _make_linker(engine: wasmtime.Engine) -> wasmtime.Linker:
    linker = wasmtime.Linker(engine)
    i32, i64 = wasmtime.ValType.i32, wasmtime.ValType.i64

    def define(module: str, name: str, params: list[Any], function: Callable[..., Any]) -> None:
        results = [] if name == "proc_exit" else [i32()]
        linker.define_func(
            module, name, wasmtime.FuncType([p() for p in params], results), function
        )

    define("env", "host_interrupt", [], lambda: 1 if current.guest.poll_interrupt() else 0)
    define("env", "host_call", [i32] * 5, lambda *_: -1)  # "failed": the kernel never uses it
    define("env", "host_module_normalize", [i32] * 5, _resolve_module)
    define("env", "host_module_load", [i32] * 3, _load_module)
    for name, params in {
        "fd_close": [i32],
        "fd_fdstat_get": [i32, i32],
        "fd_seek": [i32, i64, i32, i32],
        "fd_write": [i32] * 4,
    }.items():
        define("wasi_snapshot_preview1", name, params, lambda *_: 8)  # EBADF
    define("wasi_snapshot_preview1", "environ_get", [i32, i32], lambda *_: 0)
    define("wasi_snapshot_preview1", "environ_sizes_get", [i32, i32], _zero_words(2))
    define("wasi_snapshot_preview1", "clock_time_get", [i32, i64, i32], _zero_clock)
    define("wasi_snapshot_preview1", "random_get", [i32, i32], _zero_random)
    define("wasi_snapshot_preview1", "proc_exit", [i32], _refuse_exit)
    return linker


def _resolve_module(base: int, base_size: int, name: int, name_size: int, size: int) -> int:
    guest: Guest = current.guest
    text = guest.resolve_module(guest.text(base, base_size), guest.text(name, name_size))
    return guest.hand_over(text, size)


def _load_module(name: int, name_size: int, size: int) -> int:
    guest: Guest = current.guest
    return guest.hand_over(guest.load_module(guest.text(name, name_size)), size)


def _zero_words(count: int) -> Callable[..., int]:
    def write(*pointers: int) -> int:
        for pointer in pointers[:count]:
            current.guest.write(bytes(4), pointer)
        return 0

    return write


def _zero_clock(clock: int, precision: int, pointer: int) -> int:
    current.guest.write(bytes(8), pointer)
    return 0


def _zero_random(pointer: int, length: int) -> int:
    current.guest.write(bytes(length), pointer)
    return 0


def _refuse_exit(code: int) -> None:
    raise wasmtime.WasmtimeError(f"the guest tried to exit with status {code}")
