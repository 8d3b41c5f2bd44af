"""Bundles: calls of the guest that always follow each other, made by one call of the host.

Each call from Python costs more than most exports of the guest take, and gives the interpreter lock
away. `bundles.wat` makes the calls of a command of the kernel inside WebAssembly instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import as_file, files
from typing import Any, Final

import wasmtime

from interpstack_wasm.compiled import load_module
from interpstack_wasm.host import wasm_host

__all__ = ["BUNDLES", "bundles_of"]

#: The exports of `bundles.wat`.
BUNDLES: Final = frozenset({"tell", "run", "ask", "asked"})


@cache
def _module() -> wasmtime.Module:
    """The compiled `bundles.wat`: compiling it takes 4 ms, once a process without a cache."""
    host = wasm_host()
    with as_file(files("interpstack_quickjs.webassembly") / "bundles.wat") as path:
        return load_module(host.engine, path, host.variant).module


def bundles_of(store: wasmtime.Store, export: Callable[[str], Any]) -> wasmtime.Instance:
    """The bundles of one guest.

    Args:
        store: The store of its instance.
        export: Its exports by name.
    """
    module = _module()
    return wasmtime.Instance(store, module, [export(str(one.name)) for one in module.imports])
