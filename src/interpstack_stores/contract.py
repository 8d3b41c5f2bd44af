"""The contract of stores of sessions: claims, fencing tokens, and states as bytes."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Final, Self

import attrs

from interpstack import ConfigurationError
from interpstack.checks import expect, positive, shown
from interpstack_stores.errors import StateRejected

__all__ = [
    "MAX_CLAIM_SECONDS",
    "MAX_KEY_BYTES",
    "MAX_STATE_BYTES",
    "SessionStore",
    "StoredSession",
    "check_claim",
    "check_delete",
    "check_idle",
    "check_key",
    "is_key",
]

#: Seconds of the longest claim. One that ends later, in a damaged row, holds no more.
MAX_CLAIM_SECONDS: Final = 10**9
#: Bytes of the longest key of a session, in UTF-8.
MAX_KEY_BYTES: Final = 1024
#: Bytes of the largest state, unless a store is made with another limit.
MAX_STATE_BYTES: Final = 64 * 2**20


@attrs.frozen(kw_only=True)
class StoredSession:
    """A session in a store, without its state.

    Attributes:
        key: The session's key.
        size: Bytes of the saved state; 0 before the first.
        idle_seconds: Seconds since the session was last claimed, renewed or saved.
        claimed: Whether a claim holds now.
    """

    key: str
    size: int
    idle_seconds: float
    claimed: bool


@attrs.define(eq=False)
class SessionStore(abc.ABC):
    """A place for the states of sessions, which several processes share.

    A process claims a session under a token of its own, a text that no other claim ever has. The
    store accepts changes of the session only under the token of the last claim, so a process whose
    claim has run out cannot overwrite what others have saved since. A claim holds for some seconds;
    during this time, no other token can claim the session. Afterwards, the token stays valid until
    the next claim.

    The methods block, and may be called from any thread, by several at once. Each is atomic: a
    process that dies in the middle leaves the old or the new state. Time is the store's own, so
    that the clocks of its users need not agree.

    Attributes:
        max_bytes: Bytes of the largest state; larger ones are neither saved nor loaded.
    """

    max_bytes: int = attrs.field(
        default=MAX_STATE_BYTES,
        kw_only=True,
        validator=positive(int, optional=False, of="a session store"),
    )

    @abc.abstractmethod
    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        """Claim a session, and return its saved state; `None` if there is none.

        A token may claim again, for a caller that has not received the first answer.

        Raises:
            ConfigurationError: The key, the token or the seconds are invalid.
            SessionBusy: The claim of another token still holds.
            StateRejected: The saved state is larger than `max_bytes`. The session is claimed.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def renew(self, key: str, token: str, seconds: float) -> None:
        """Let a claim hold for the given seconds from now on; with 0, release the session.

        Raises:
            ConfigurationError: The key, the token or the seconds are invalid.
            SessionTaken: The token is not that of the last claim, or the session was deleted.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def save(self, key: str, token: str, data: bytes, seconds: float) -> None:
        """Replace the saved state, and renew the claim.

        Raises:
            ConfigurationError: The key, the token or the seconds are invalid, or the state is
                not `bytes`.
            SessionTaken: The token is not that of the last claim, or the session was deleted.
            StateRejected: The state is larger than `max_bytes`.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def delete(self, key: str, token: str | None = None) -> bool:
        """Delete a session and its claim; False if there is none.

        Args:
            key: The key of the session.
            token: The token of the last claim; `None` to delete the session whatever its claim.

        Raises:
            ConfigurationError: The key or the token is invalid.
            SessionTaken: Another token has claimed it.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def sessions(self) -> Iterator[StoredSession]:
        """All sessions, in any order; those that come or go meanwhile may be missing."""

    @abc.abstractmethod
    def expire(self, idle_seconds: float) -> int:
        """Delete the unclaimed sessions that have been idle for this time, and return their number.

        Raises:
            ConfigurationError: The seconds are not a number from 0 to 1,000,000,000.
            StoreUnavailable: The store failed.
        """

    def close(self) -> None:  # noqa: B027 - optional
        """Free the store's connections. Does nothing by default; closing twice is allowed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def check_save(self, key: str, token: str, data: bytes, seconds: float) -> None:
        """Refuse arguments that no store can save.

        Raises:
            ConfigurationError: The key, the token or the seconds are invalid, or the state is
                not `bytes`.
            StateRejected: The state has more than `max_bytes`.
        """
        check_claim(key, token, seconds)
        expect(data, bytes, "the state of a session is bytes")
        self.check_size(len(data))

    def check_size(self, size: int) -> None:
        """Refuse a state that is too large.

        Raises:
            StateRejected: It has more than `max_bytes`.
        """
        if size > self.max_bytes:
            raise StateRejected(
                f"the state has {size} bytes; this store takes at most {self.max_bytes} "
                "(its max_bytes)"
            )


def check_claim(key: str, token: str, seconds: float) -> None:
    """Refuse a claim that no store can have.

    Raises:
        ConfigurationError: The key or the token is not a text that a store can have, or the seconds
            of the claim are not a number, or too many.
    """
    check_key(key)
    _check_token(token)
    _check_seconds("a claim holds for", seconds)


def check_delete(key: str, token: str | None) -> None:
    """Refuse a session or a token that no store can have.

    Raises:
        ConfigurationError: The key, or a token that is not `None`, is not a text that a store can
            have.
    """
    check_key(key)
    if token is not None:
        _check_token(token)


def check_idle(seconds: float) -> None:
    """Refuse a time that no session can have been idle.

    Raises:
        ConfigurationError: The seconds are not a number, are negative, or are too many.
    """
    _check_seconds("sessions expire after", seconds)


def check_key(key: str) -> None:
    """Refuse a key that no store can have.

    Raises:
        ConfigurationError: The key is empty, too long, or not Unicode text without NUL.
    """
    if not is_key(key):
        raise ConfigurationError(
            f"the key of a stored session is a text of 1 to {MAX_KEY_BYTES} bytes in UTF-8, "
            f"without NUL; got {shown(key)}"
        )


def is_key(key: object) -> bool:
    """Whether a session may have this key; rows of a damaged store may have others."""
    if not isinstance(key, str) or not key or "\0" in key:
        return False
    try:
        return len(key.encode()) <= MAX_KEY_BYTES
    except UnicodeEncodeError:
        return False


def _check_token(token: object) -> None:
    if not is_key(token):
        raise ConfigurationError(
            f"the token of a claim is a text of 1 to {MAX_KEY_BYTES} bytes in UTF-8, without NUL; "
            f"got {shown(token)}"
        )


def _check_seconds(what: str, seconds: object) -> None:
    good = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not good or not 0 <= seconds <= MAX_CLAIM_SECONDS:  # type: ignore[operator]
        raise ConfigurationError(f"{what} 0 to {MAX_CLAIM_SECONDS} seconds; got {shown(seconds)}")
