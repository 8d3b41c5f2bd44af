"""The shared runtime of all guests of a process: the compiled module, its imports, and a clock.

The guest has no system interface at all. The functions of WASI it imports are stubs that fail,
but for clock and random, which are constant: so an instance's memory depends on nothing but the
code that ran in it, and time and chance come from the host through the kernel.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Protocol

import attrs
import wasmtime

from interpstack import EngineFailure
from interpstack_javascript.guest_files import guest_path
from interpstack_wasm.compiled import Compiled, load_module
from interpstack_wasm.host import Ticker, WasmHost, wasm_host
from interpstack_wasm.stores import WasmLinker

__all__ = ["GuestRuntime", "current", "guest_runtime"]


#: In the name of the compiled module; changes whenever `hooks.py` makes another one.
_HOOKED: Final = "hooked2"


class _Importer(Protocol):
    """The guest that imports a module, as these functions see it."""

    resolve_module: Callable[[str, str], str | None]
    load_module: Callable[[str], str | None]

    def text(self, address: int, length: int) -> str:
        """A text in the guest's memory."""

    def hand_over(self, text: str | None, size: int) -> int:
        """Copy a text into the guest's memory; `None` for none."""

    def read(self, address: int, length: int) -> bytes:
        """A copy of some memory of the guest."""

    def asked(self, argument: int) -> int:
        """Answer a question of guest code; the handle of the answer."""


@attrs.frozen(eq=False, repr=False)
class GuestRuntime:
    """The objects that all instances of the process share."""

    host: WasmHost
    compiled: Compiled
    linker: wasmtime.Linker

    @property
    def engine(self) -> wasmtime.Engine:
        return self.host.engine

    @property
    def ticker(self) -> Ticker:
        return self.host.ticker


class _Current(threading.local):
    """The guest whose code runs in this thread: wasmtime's imports know no other way to find it."""

    guest: Any = None

    def enter(self, guest: Any) -> Any:
        """Make a guest the one that runs; the one before it."""
        before, self.guest = self.guest, guest
        return before


current = _Current()


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
    host = wasm_host()
    try:
        compiled = load_module(host.engine, guest_path(), f"{_HOOKED}{host.variant}", _hooked)
    except wasmtime.WasmtimeError as error:
        raise EngineFailure(f"the guest cannot be loaded: {host.explained(error)}") from error
    return GuestRuntime(host, compiled, _make_linker(host.engine))


def _hooked(source: bytes) -> bytes:
    from interpstack_quickjs.webassembly.hooks import hooked  # where the module is not compiled yet

    return hooked(source)


def _make_linker(engine: wasmtime.Engine) -> wasmtime.Linker:
    linker = WasmLinker(engine)
    i32, i64 = wasmtime.ValType.i32, wasmtime.ValType.i64

    def define(module: str, name: str, params: list[Any], function: Callable[..., Any]) -> None:
        results = [] if name == "proc_exit" else [i32()]
        linker.define_func(
            module, name, wasmtime.FuncType([p() for p in params], results), function
        )

    define("env", "host_interrupt", [], lambda: 1 if current.guest.poll_interrupt() else 0)
    define("env", "host_call", [i32] * 5, _call_host)
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
    guest: _Importer = current.guest
    text = guest.resolve_module(guest.text(base, base_size), guest.text(name, name_size))
    return guest.hand_over(text, size)


def _load_module(name: int, name_size: int, size: int) -> int:
    guest: _Importer = current.guest
    return guest.hand_over(guest.load_module(guest.text(name, name_size)), size)


def _call_host(name: int, name_size: int, this: int, count: int, arguments: int) -> int:
    """Answer the call of a function that the host made; -1 makes the call throw."""
    guest: _Importer = current.guest
    if count < 1:
        return -1
    try:
        return guest.asked(int.from_bytes(guest.read(arguments, 4), "little"))
    except EngineFailure:  # the guest has no room for the answer
        return -1


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
