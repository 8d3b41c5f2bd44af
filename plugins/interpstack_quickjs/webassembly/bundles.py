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

__all__ = ["BRIEF", "BUNDLES", "bundles_of"]

#: The exports of `bundles.wat`.
BUNDLES: Final = frozenset({"tell", "go_on", "ask", "asked", "apply"})
#: Those that run no code of the guest, and take microseconds.
BRIEF: Final = frozenset({"apply"})


@cache
def _module() -> tuple[wasmtime.Module, tuple[str, ...]]:
    """The compiled `bundles.wat`, and the names of what it imports.

    Compiling it takes 4 ms, once a process without a cache; to list the names takes longer than to
    make the bundles of a guest.
    """
    host = wasm_host()
    with as_file(files("interpstack_quickjs.webassembly") / "bundles.wat") as path:
        module = load_module(host.engine, path, host.variant).module
    return module, tuple(str(one.name) for one in module.imports)


def bundles_of(store: wasmtime.Store, export: Callable[[str], Any]) -> wasmtime.Instance:
    """The bundles of one guest.

    Args:
        store: The store of its instance.
        export: Its exports by name.
    """
    module, names = _module()
    return wasmtime.Instance(store, module, [export(name) for name in names])
