"""Tests that every engine, bridge and persistence mode must pass. Needs pytest and hypothesis."""

from __future__ import annotations

from interpstack.testing.conformance.areas import Area
from interpstack.testing.conformance.engine import EngineConformance

__all__ = ["Area", "EngineConformance"]
