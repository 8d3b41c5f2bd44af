"""The refusal to continue an eval without the variables that it began with."""

from __future__ import annotations

from interpstack_agents import RecordRejected

__all__ = ["StateNotRestored"]


class StateNotRestored(RecordRejected):
    """Raised when a waiting eval cannot continue because its initial variables are lost."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(
            "an unfinished eval of this thread cannot be resumed: the variables that it started "
            f"with could not be restored: {cause}. Nothing was run, and the pause and its "
            "approvals are unchanged. Resume the thread with the snapshot_signing_key and the "
            "engine that it was stopped with; to abandon the eval, start a new turn"
        )
