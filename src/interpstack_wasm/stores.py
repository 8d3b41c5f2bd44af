"""Stores and linkers of wasmtime that the end of the process frees, and not the interpreter.

Where a store has functions of the host, its deletion calls back into wasmtime's Python package. The
interpreter deletes what is left at its end in an order of its own: the callback may be gone by
then, and the process would end with a fault of memory, after all its work was done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import wasmtime

__all__ = ["WasmLinker", "WasmStore"]


class WasmStore(wasmtime.Store):
    """A store that the interpreter does not delete at its end."""

    # As a default value: names of modules may be gone by then.
    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ends():
            super().__del__()


class WasmLinker(wasmtime.Linker):
    """A linker that the interpreter does not delete at its end."""

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ends():
            super().__del__()
