"""Node in the conformance kit."""

from __future__ import annotations

from interpstack import Engine
from interpstack_node.engine import NodeEngine
from interpstack_testing import JAVASCRIPT, EngineConformance

__all__ = ["NodeConformance"]


class NodeConformance(EngineConformance):
    """Conformance tests of Node, with its gaps."""

    guest = JAVASCRIPT

    def make_engine(self) -> Engine:
        return NodeEngine()
