"""Names of this plugin that other plugins may import."""

from __future__ import annotations

from interpstack_persistence import hookspecs

__all__ = ["hookspecs"]
