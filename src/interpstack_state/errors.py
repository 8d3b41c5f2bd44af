"""Errors of stores of states.

```text
StateError                an InterpstackError
├── StateBusy             another process uses the state now
├── StateTaken            another process has claimed the state
├── StateRejected         the stored state is damaged, foreign, too large, or of another form
└── StoreUnavailable      the store cannot be reached, or failed
```
"""

from __future__ import annotations

from interpstack import ConfigurationError, InterpstackError

__all__ = [
    "DatabaseMissing",
    "StateBusy",
    "StateError",
    "StateRejected",
    "StateTaken",
    "StoreUnavailable",
    "damaged",
    "not_bytes",
    "old_form",
    "other_index",
]


class StateError(InterpstackError, RuntimeError):
    """Base class of the errors of stores."""


class StateBusy(StateError):
    """Another process is using the state.

    Attributes:
        key: The key of the state.
        wait_seconds: Seconds until its claim ends, unless it renews the claim.
        until: The end of its claim by the store's clock; it changes only when the claim is renewed.
    """

    def __init__(self, key: str, wait_seconds: float, until: float = 0.0) -> None:
        self.key, self.wait_seconds, self.until = key, max(0.0, wait_seconds), until
        super().__init__(
            f"state {key!r:.80} is in use by another process; try again, at the latest in "
            f"{self.wait_seconds:.1f} seconds"
        )

    def __reduce__(self) -> tuple[type[StateBusy], tuple[str, float, float]]:
        return type(self), (self.key, self.wait_seconds, self.until)


class StateTaken(StateError):
    """The token of a claim is no longer valid: another process has claimed the state.

    Attributes:
        key: The key of the state.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"state {key!r:.80} was claimed by another process, or deleted; claim it again to "
            "continue from what is stored"
        )

    def __reduce__(self) -> tuple[type[StateTaken], tuple[str]]:
        return type(self), (self.key,)


class StateRejected(StateError, ValueError):
    """A saved state cannot be used. It stays in the store until it is deleted or saved over."""


class DatabaseMissing(ConfigurationError):
    """There is no file of a database, and it is not to be made."""


class StoreUnavailable(StateError):
    """The store cannot be reached, or failed; its driver's error is the cause."""


def damaged(key: str, why: str) -> StateRejected:
    """The error for a state that another program has changed."""
    return StateRejected(
        f"state {key!r:.80} is damaged: {why}; restore it from a copy of the store, or delete it "
        "to begin again"
    )


def not_bytes(key: str) -> StateRejected:
    """The error for a blob that another program has changed."""
    return damaged(key, "its blob is not bytes")


def other_index(key: str, index: int, stored: int) -> StateRejected:
    """The error for entries that do not follow the last one of their log."""
    return StateRejected(
        f"the log of state {key!r:.80} has {stored} entries, so the next one is {stored}, not "
        f"{index}; read the log, and append what it lacks"
    )


def old_form(place: str, what: str) -> StateRejected:
    """The error for a database that a development version has written."""
    return StateRejected(
        f"{place} has {what} in the form of a development version before 0.1.0, which this release "
        "does not read: finish them with the version that wrote them, or name another database"
    )
