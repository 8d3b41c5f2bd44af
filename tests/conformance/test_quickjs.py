"""QuickJS, held to the kit."""

from __future__ import annotations

from interpstack import Engine
from interpstack.testing import JAVASCRIPT, EngineConformance
from interpstack_quickjs.engine import QuickJSEngine


class TestQuickJS(EngineConformance):
    guest = JAVASCRIPT

    def make_engine(self) -> Engine:
        return QuickJSEngine()
