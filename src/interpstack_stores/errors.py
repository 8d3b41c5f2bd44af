"""Errors of stores of sessions.

```text
SessionStoreError                 an InterpstackError
├── SessionBusy                   another process uses the session now
├── SessionTaken                  another process has claimed the session
├── StateRejected                 the saved state is damaged, foreign, too large, or of another form
└── StoreUnavailable              the store cannot be reached, or failed
```
"""

from __future__ import annotations

from interpstack import InterpstackError

__all__ = [
    "SessionBusy",
    "SessionStoreError",
    "SessionTaken",
    "StateRejected",
    "StoreUnavailable",
    "not_bytes",
]


class SessionStoreError(InterpstackError, RuntimeError):
    """Base class of the errors of stores."""


class SessionBusy(SessionStoreError):
    """Another process is using the session.

    Attributes:
        key: The key of the session.
        wait_seconds: Seconds until its claim ends, unless it renews the claim.
    """

    def __init__(self, key: str, wait_seconds: float) -> None:
        self.key, self.wait_seconds = key, max(0.0, wait_seconds)
        super().__init__(
            f"session {key!r:.80} is in use by another process; try again, at the latest in "
            f"{self.wait_seconds:.1f} seconds"
        )

    def __reduce__(self) -> tuple[type[SessionBusy], tuple[str, float]]:
        return type(self), (self.key, self.wait_seconds)


class SessionTaken(SessionStoreError):
    """The token of a claim is no longer valid: another process has claimed the session.

    Attributes:
        key: The key of the session.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"session {key!r:.80} was claimed by another process, or deleted; claim it again to "
            "continue from its saved state"
        )

    def __reduce__(self) -> tuple[type[SessionTaken], tuple[str]]:
        return type(self), (self.key,)


class StateRejected(SessionStoreError, ValueError):
    """A saved state cannot be used. It stays in the store until it is deleted or saved over."""


class StoreUnavailable(SessionStoreError):
    """The store cannot be reached, or failed; its driver's error is the cause."""


def not_bytes(key: str) -> StateRejected:
    """The error for a state that another program has changed."""
    return StateRejected(
        f"the state of session {key!r:.80} is damaged: it is not bytes; save or delete the session "
        "to begin again"
    )
