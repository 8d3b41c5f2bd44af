"""Alias of the public classes of `interpstack_testing.conformance`. Needs pytest and hypothesis."""

from __future__ import annotations

from interpstack_testing import (
    Area,
    BridgeConformance,
    BridgeUse,
    EngineConformance,
    PersistenceConformance,
)

__all__ = [
    "Area",
    "BridgeConformance",
    "BridgeUse",
    "EngineConformance",
    "PersistenceConformance",
]
