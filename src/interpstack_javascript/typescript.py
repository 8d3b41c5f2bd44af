"""Strips TypeScript with the OXC transform that quickjs-rs ships as WebAssembly.

Each source gets an instance of its own, as untrusted as the guest it is for: it has a memory
limit and a clock, and is thrown away afterwards.
"""

from __future__ import annotations

import threading
from typing import Any, Final

import wasmtime

from interpstack_javascript.errors import TypeScriptError
from interpstack_javascript.guest_files import guest_path
from interpstack_wasm.compiled import Compiled, load_module
from interpstack_wasm.host import TICK_SECONDS, wasm_host

__all__ = ["load", "strip_types"]

_SOURCE_TS: Final = 1 << 0
_STRIP: Final = 1 << 8
_UNCHANGED: Final = 1
_MEMORY_BYTES: Final = 256 * 2**20
_TICKS: Final = 50  # of a tenth of a second

_lock = threading.Lock()
_compiled: Compiled | None = None


def strip_types(source: str, name: str = "cell.ts", seconds: float | None = None) -> str:
    """TypeScript as JavaScript.

    Args:
        source: TypeScript.
        name: The name of the file, for messages.
        seconds: How long it may take on an idle machine; 5 at most.

    Raises:
        TypeScriptError: It does not parse, or takes too much time or memory.
    """
    host = wasm_host()
    module = _module().module  # compiling it is not the source's time
    store = wasmtime.Store(host.engine)
    store.set_limits(memory_size=_MEMORY_BYTES)
    store.set_epoch_deadline(_ticks(seconds))
    store.set_wasi(wasmtime.WasiConfig())
    linker = wasmtime.Linker(host.engine)
    linker.define_wasi()
    try:
        with host.ticker:
            exports = linker.instantiate(store, module).exports(store)
            text = _transform(store, exports, source.encode("utf-8", "replace"), name.encode())
            return text.removesuffix("export {};\n")  # added where all imports were of types
    except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
        raise TypeScriptError(
            "the source is too large or too deeply nested to be parsed"
        ) from error
    finally:
        store.close()


def load() -> None:
    """Compile the transform, or load it from the cache."""
    _module()


def _ticks(seconds: float | None) -> int:
    """The clock also counts while other work has the processor, so the limit is doubled."""
    return _TICKS if seconds is None else min(_TICKS, int(2 * max(0.0, seconds) / TICK_SECONDS) + 1)


def _module() -> Compiled:
    global _compiled
    with _lock:
        if _compiled is None:
            host = wasm_host()
            _compiled = load_module(host.engine, guest_path("_transform.wasm"), host.variant)
        return _compiled


def _transform(store: wasmtime.Store, exports: Any, source: bytes, name: bytes) -> str:
    memory = exports["memory"]

    def put(data: bytes) -> int:
        address = int(exports["qjst_alloc"](store, len(data)))
        memory.write(store, data, address)
        return address

    def take(kind: str) -> str:
        length = exports[f"qjst_{kind}_len"](store)
        address = exports[f"qjst_{kind}_ptr"](store)
        return bytes(memory.read(store, address, address + length)).decode("utf-8", "replace")

    status = exports["qjst_transform"](
        store, put(name), len(name), put(source), len(source), _SOURCE_TS | _STRIP
    )
    if status == _UNCHANGED:
        return source.decode()
    if status != 0:
        raise TypeScriptError(take("error") or f"the transform failed with status {status}")
    return take("result")
