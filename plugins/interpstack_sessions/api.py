"""Public names of the plugin."""

from __future__ import annotations

from interpstack_sessions.held import HeldKeys
from interpstack_sessions.plugin import StoredSessions

__all__ = ["HeldKeys", "StoredSessions"]
