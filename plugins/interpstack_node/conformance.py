"""Node in the conformance kit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from interpstack_core import Engine
from interpstack_node.engine import NodeEngine
from interpstack_testing import JAVASCRIPT, EngineConformance

__all__ = ["NodeConformance"]


class NodeConformance(EngineConformance):
    """Conformance tests of Node, with its gaps."""

    guest = JAVASCRIPT
    gaps: ClassVar[Mapping[str, str]] = {
        "test_syntax_errors_in_modules_have_a_place": "Node's errors of modules have no position",
    }

    def make_engine(self) -> Engine:
        # Where there is no Node, this says so once, before any test.
        return NodeEngine(node_path=NodeEngine().runtime.path)
