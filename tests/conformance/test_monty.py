"""Monty, held to the kit."""

from __future__ import annotations

from interpstack_monty.conformance import MontyConformance


class TestMonty(MontyConformance):
    """As its report is made."""
