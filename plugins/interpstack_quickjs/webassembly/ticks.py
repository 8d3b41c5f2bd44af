"""Ticks: ten times a second while a guest computes, the host decides whether to continue.

The guest itself asks every ten thousand steps, but not inside a long builtin, and not at all where
its memory is damaged. wasmtime looks at its clock in every loop, but its Python package lets that
clock only end the guest, so the C function below is used. Where the package does not offer that, a
guest is ended after a fixed number of ticks.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import wasmtime

from interpstack_quickjs.webassembly.runtime import current

try:
    from wasmtime import _bindings

    _install: Any = _bindings.wasmtime_store_epoch_deadline_callback
    _new_error: Any = _bindings.wasmtime_error_new
    _types = _bindings._wasmtime_store_epoch_deadline_callback.argtypes  # noqa: SLF001
    _Callback: Any = _types[1]
    _Finalizer: Any = _types[3]
    _offered = True
except (ImportError, AttributeError):
    _offered = False

__all__ = ["ASKS", "ask_each_tick"]

#: Whether guests are asked for; if not, they end by themselves after a number of ticks.
ASKS: Final = _offered


def ask_each_tick(store: wasmtime.Store) -> None:
    """Stop the guest that runs in this store as soon as its `tick` asks for it."""
    if ASKS:
        _install(store.ptr(), _tick, None, _no_finalizer)


def _on_tick(context: Any, data: Any, delta: Any, kind: Any) -> int:
    delta[0], kind[0] = 1, 0  # look again at the next tick
    try:
        late = current.guest.tick()
    except BaseException:  # noqa: BLE001 - nothing may pass through native code
        late = True
    if not late:
        return 0
    return ctypes.cast(_new_error(b"the time is up"), ctypes.c_void_p).value or 0


if ASKS:
    _tick = _Callback(_on_tick)
    _no_finalizer = ctypes.cast(0, _Finalizer)
