"""The default engine: QuickJS in WebAssembly."""

from __future__ import annotations

from interpstack import Engine, hookimpl


@hookimpl
def interpstack_register_engine() -> type[Engine]:
    from interpstack_quickjs.engine import QuickJSEngine

    return QuickJSEngine
