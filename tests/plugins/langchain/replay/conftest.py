"""Agents that write a database, and replays of its threads."""

from __future__ import annotations

from replayed_threads import said, thread

__all__ = ["said", "thread"]
