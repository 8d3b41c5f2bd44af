"""The reference engine, held to the kit."""

from __future__ import annotations

from interpstack import Engine
from interpstack_testing import PYTHON, EngineConformance, FakeEngine


class TestFakeEngine(EngineConformance):
    guest = PYTHON

    def make_engine(self) -> Engine:
        return FakeEngine()
