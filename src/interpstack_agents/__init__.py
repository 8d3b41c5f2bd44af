"""Parts that every adapter of an agent framework needs."""

from __future__ import annotations

from interpstack_agents.presets import Preset

__all__ = ["Preset"]
