"""Node in the conformance kit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from interpstack import Engine
from interpstack_node.engine import NodeEngine
from interpstack_testing import JAVASCRIPT, EngineConformance

__all__ = ["NodeConformance"]


class NodeConformance(EngineConformance):
    """Conformance tests of Node, with its gaps."""

    guest = JAVASCRIPT
    gaps: ClassVar[Mapping[str, str]] = {
        "test_syntax_errors_in_modules_have_a_place": "Node's errors of modules have no position",
        "test_hostile_guest[modules/import.meta]": "cells on Node have it",
        **{
            f"test_hostile_guest[modules/{name}]": "code on Node may import what 'os' may tell it"
            for name in (
                "import os",
                "import os without await",
                "import os from 'os'",
                "import('os', {with: {type: 'json'}})",
            )
        },
    }

    def make_engine(self) -> Engine:
        # Where there is no Node, this says so once, before any test.
        return NodeEngine(node_path=NodeEngine().runtime.path)
