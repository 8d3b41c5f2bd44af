"""An engine for speed: V8 in the host's process, by jsrun. Comes with the extra `v8-engine`."""

from __future__ import annotations

from interpstack import Engine, GuestLanguage, hookimpl


@hookimpl
def interpstack_register_engine() -> type[Engine]:
    from interpstack_v8.engine import V8Engine

    return V8Engine


@hookimpl
def interpstack_register_language() -> GuestLanguage:
    from interpstack_javascript import JAVASCRIPT

    return JAVASCRIPT
