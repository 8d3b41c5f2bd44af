"""Finds exports, calls functions, and asks for memory, without what takes longer than the answer.

wasmtime's Python package looks up and converts the type of every argument and result on each
call, which takes several times as long as the call itself. The C function below it takes an
array of raw values. To ask where a memory is, the package lets the interpreter lock go, and a busy
event loop may keep it. Where this version of the package does not offer the short way, calls and
questions go the long way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import wasmtime

try:
    from wasmtime import _bindings, _extern, _ffi, _func

    _call_unchecked: Any = _ffi.dll.wasmtime_func_call_unchecked
    _Raw: Any = _bindings.wasmtime_val_raw
    _TrapPointer: Any = ctypes.POINTER(_bindings.wasm_trap_t)
    _forget_exception: Any = _func.maybe_raise_last_exn
    _find_export: Any = _bindings.wasmtime_instance_export_get
    _Extern: Any = _bindings.wasmtime_extern_t
    _wrap_extern: Any = _extern.wrap_extern
    _WORDS = ctypes.sizeof(_Raw) // 4
    _ask: Any = ctypes.PYFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)
    _size: Any = _ask(("wasmtime_memory_data_size", _ffi.dll))
    _address: Any = _ask(("wasmtime_memory_data", _ffi.dll))
    _call_briefly: Any = ctypes.PYFUNCTYPE(_call_unchecked.restype, *_call_unchecked.argtypes)(
        ("wasmtime_func_call_unchecked", _ffi.dll)
    )
    _get_global: Any = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
        ("wasmtime_global_get", _ffi.dll)
    )
    _Value: Any = _bindings.wasmtime_val_t
    _offered = True
except (ImportError, AttributeError):
    _offered = False

__all__ = ["FAST", "export_of", "global_reader", "memory_place", "raw_call"]

#: Whether calls take the short way.
FAST: Final = _offered
#: More than any export of the guest takes.
_MAX_ARGS: Final = 8


def export_of(store: wasmtime.Store, instance: wasmtime.Instance, name: str) -> Any:
    """One export of an instance; wasmtime's package would wrap all of them first.

    Raises:
        KeyError: The instance has no such export.
    """
    if not FAST:
        return instance.exports(store)[name]
    data, item = name.encode(), _Extern()
    context, pointer = store._context(), ctypes.byref(instance._instance)  # noqa: SLF001
    if not _find_export(
        context, pointer, ctypes.create_string_buffer(data), len(data), ctypes.byref(item)
    ):
        raise KeyError(name)
    return _wrap_extern(item)


def raw_call(store: wasmtime.Store, function: Any, *, brief: bool = False) -> Callable[..., int]:
    """A caller for an exported function whose arguments and result are 32-bit integers.

    The returned caller raises `wasmtime.Trap` or `wasmtime.WasmtimeError`, as the function would.

    Args:
        store: The store of the function's instance.
        function: The function.
        brief: Keep the interpreter lock: for functions that run no code of a guest, and take less
            time than to get the lock back from a busy event loop.
    """
    if not FAST:
        return lambda *args: function(store, *args) or 0
    enter = _call_briefly if brief else _call_unchecked
    context, pointer = store._context(), ctypes.byref(function._func)  # noqa: SLF001
    values = (_Raw * _MAX_ARGS)()
    # The same memory as plain integers, which are set much faster than fields of a union.
    words = (ctypes.c_int32 * (_MAX_ARGS * _WORDS)).from_buffer(values)

    def call(*args: int) -> int:
        at = 0
        for value in args:
            words[at] = value
            at += _WORDS
        trap = _TrapPointer()
        error = enter(context, pointer, values, _MAX_ARGS, ctypes.byref(trap))
        if error or trap:
            _raise(error, trap)
        return words[0]

    return call


def memory_place(
    store: wasmtime.Store, memory: wasmtime.Memory
) -> tuple[Callable[[], int], Callable[[], int]]:
    """Functions that tell the address of a memory in this process, and its size in bytes.

    Both change when the memory grows; neither function may be called once the store is closed.
    """
    if not FAST:
        return (
            lambda: ctypes.addressof(memory.data_ptr(store).contents),
            lambda: int(memory.data_len(store)),
        )
    context, pointer = store._context(), ctypes.byref(memory._memory)  # noqa: SLF001
    return partial(_address, context, pointer), partial(_size, context, pointer)


def global_reader(store: wasmtime.Store, one: wasmtime.Global) -> Callable[[], int]:
    """A function that tells the current value of a 32-bit integer of an instance."""
    if not FAST:
        return lambda: int(one.value(store))
    context, pointer = store._context(), ctypes.byref(one._global)  # noqa: SLF001
    value = _Value()
    place, integers = ctypes.byref(value), value.of

    def read() -> int:
        _get_global(context, pointer, place)
        return int(integers.i32)

    return read


def _raise(error: Any, trap: Any) -> None:
    try:
        _forget_exception()  # from a host function; otherwise another call would raise it
    except Exception as cause:
        raise wasmtime.WasmtimeError(str(cause)) from cause
    if error:
        raise wasmtime.WasmtimeError._from_ptr(error)  # noqa: SLF001
    raise wasmtime.Trap._from_ptr(trap)  # noqa: SLF001
