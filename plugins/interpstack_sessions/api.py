"""Public names of the plugin."""

from __future__ import annotations

from interpstack_sessions.key_locks import KeyLocks
from interpstack_sessions.plugin import StoredSessions

__all__ = ["KeyLocks", "StoredSessions"]
