"""An engine that runs guests in Node processes. Comes with the extra `node`."""

from __future__ import annotations

from interpstack import Engine, GuestLanguage, hookimpl


@hookimpl
def interpstack_register_engine() -> type[Engine]:
    from interpstack_node.engine import NodeEngine

    return NodeEngine


@hookimpl
def interpstack_register_language() -> GuestLanguage:
    from interpstack_javascript import JAVASCRIPT

    return JAVASCRIPT
