"""The default engine: QuickJS in WebAssembly."""

from __future__ import annotations

from interpstack import Engine, GuestLanguage, hookimpl


@hookimpl
def interpstack_register_engine() -> type[Engine]:
    from interpstack_quickjs.engine import QuickJSEngine

    return QuickJSEngine


@hookimpl
def interpstack_register_language() -> GuestLanguage:
    from interpstack_javascript import JAVASCRIPT

    return JAVASCRIPT
