"""The refusal to continue an eval without the variables that it began with."""

from __future__ import annotations

from interpstack_agents import RecordRejected

__all__ = ["StateNotRestored"]


class StateNotRestored(RecordRejected):
    """Raised when a waiting eval cannot continue because its initial variables are lost."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(
            f"an eval of this thread waits to go on, and the variables that it began with could "
            f"not be restored: {cause}. Nothing was run, and the pause and its approvals are as "
            "they were. Resume the thread with the snapshot_signing_key and the engine that it "
            "was left with; to give the eval up, begin a new turn"
        )
