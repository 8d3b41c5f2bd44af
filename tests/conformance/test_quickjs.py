"""QuickJS, held to the kit."""

from __future__ import annotations

from interpstack_quickjs.conformance import QuickJSConformance


class TestQuickJS(QuickJSConformance):
    """Tries all attacks."""
