"""The contracts of stores: leases, blobs, logs and inboxes of states that processes share."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, Self, TypeGuard

import attrs

from interpstack import ConfigurationError
from interpstack.checks import expect, positive, shown
from interpstack_state.errors import StateRejected

__all__ = [
    "MAX_CLAIM_SECONDS",
    "MAX_KEY_BYTES",
    "MAX_STATE_BYTES",
    "BlobStore",
    "StateStore",
    "StoredBlob",
    "StoredState",
    "TakenState",
    "check_append",
    "check_claim",
    "check_create",
    "check_delete",
    "check_idle",
    "check_key",
    "check_label",
    "check_limit",
    "check_texts",
    "is_key",
    "is_repeated",
    "is_unicode",
]

#: Seconds of the longest claim. One that ends later, in a damaged row, holds no more.
MAX_CLAIM_SECONDS: Final = 10**9
#: Bytes of the longest key of a state, in UTF-8.
MAX_KEY_BYTES: Final = 1024
#: Bytes of the largest blob, unless a store is made with another limit.
MAX_STATE_BYTES: Final = 64 * 2**20


@attrs.frozen(kw_only=True)
class StoredBlob:
    """A state in a store, without its blob.

    Attributes:
        key: The key of the state.
        size: Bytes of the blob; 0 before the first.
        idle_seconds: Seconds since the state was last claimed, renewed or saved.
        claimed: Whether a claim holds now.
    """

    key: str
    size: int
    idle_seconds: float
    claimed: bool


@attrs.define(eq=False)
class BlobStore(abc.ABC):
    """A place for the blobs of states, which several processes share.

    A process claims a state under a token of its own, a text that no other claim ever has. The
    store accepts changes of the state only under the token of the last claim, so a process whose
    claim has run out cannot overwrite what others have saved since. A claim holds for some seconds;
    during this time, no other token can claim the state. Afterwards, the token stays valid until
    the next claim.

    The methods block, and may be called from any thread, by several at once. Each is atomic: a
    process that dies in the middle leaves the old or the new state. Time is the store's own, so
    that the clocks of its users need not agree.

    Attributes:
        max_bytes: Bytes of the largest blob; larger ones are neither saved nor loaded.
    """

    max_bytes: int = attrs.field(
        default=MAX_STATE_BYTES,
        kw_only=True,
        validator=positive(int, optional=False, of="a store of states"),
    )

    @abc.abstractmethod
    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        """Claim a state, and return its blob; `None` if there is none. A new state is made.

        A token may claim again, for a caller that has not received the first answer.

        Raises:
            ConfigurationError: The key, the token or the seconds are invalid.
            StateBusy: The claim of another token still holds.
            StateRejected: The blob is larger than `max_bytes`. The state is claimed.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def renew(self, key: str, token: str, seconds: float) -> None:
        """Let a claim hold for the given seconds from now on; with 0, release the state.

        Raises:
            ConfigurationError: The key, the token or the seconds are invalid.
            StateTaken: The token is not that of the last claim, or the state was deleted.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def save(self, key: str, token: str, data: bytes, seconds: float) -> None:
        """Replace the blob, and renew the claim.

        Raises:
            ConfigurationError: The key, the token or the seconds are invalid, or the blob is not
                `bytes`.
            StateTaken: The token is not that of the last claim, or the state was deleted.
            StateRejected: The blob is larger than `max_bytes`.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def delete(self, key: str, token: str | None = None) -> bool:
        """Delete a state with all that belongs to it; False if there is none.

        Args:
            key: The key of the state.
            token: The token of the last claim; `None` to delete the state whatever its claim.

        Raises:
            ConfigurationError: The key or the token is invalid.
            StateTaken: Another token has claimed it.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def blobs(self) -> Iterator[StoredBlob]:
        """All states, in any order; those that come or go meanwhile may be missing."""

    @abc.abstractmethod
    def expire(self, idle_seconds: float) -> int:
        """Delete the unclaimed states that have been idle for this time, and return their number.

        Raises:
            ConfigurationError: The seconds are not a number from 0 to 1,000,000,000.
            StoreUnavailable: The store failed.
        """

    @property
    def threads(self) -> int:
        """How many threads may use the store at once with profit; 0 if no method ever waits."""
        return 8

    def open(self) -> None:  # noqa: B027 - optional
        """Open the store now, instead of when it is first used. Does nothing by default.

        Raises:
            StateError: The store cannot be used.
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
            ConfigurationError: The key, the token or the seconds are invalid, or the blob is not
                `bytes`.
            StateRejected: The blob has more than `max_bytes`.
        """
        check_claim(key, token, seconds)
        self.check_blob(data)

    def check_blob(self, data: bytes) -> None:
        """Refuse a blob that no store can save.

        Raises:
            ConfigurationError: It is not `bytes`.
            StateRejected: It has more than `max_bytes`.
        """
        expect(data, bytes, "the blob of a state is bytes")
        self.check_size(len(data))

    def check_size(self, size: int) -> None:
        """Refuse a blob that is too large.

        Raises:
            StateRejected: It has more than `max_bytes`.
        """
        if size > self.max_bytes:
            raise StateRejected(
                f"the state has {size} bytes; this store takes at most {self.max_bytes} "
                "(its max_bytes)"
            )


@attrs.frozen(kw_only=True)
class StoredState:
    """A state that was listed or read.

    Attributes:
        key: The key of the state.
        label: The text by which states are listed.
        data: The blob.
    """

    key: str
    label: str
    data: bytes = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class TakenState:
    """A state that was claimed, with all that belongs to it.

    Attributes:
        state: The state.
        log: The entries of its log, in order.
        inbox: The messages that were sent to it, with their numbers from 1 on.
    """

    state: StoredState
    log: Sequence[str] = attrs.field(repr=False)
    inbox: Sequence[tuple[int, str]] = attrs.field(repr=False)


@attrs.define(eq=False)
class StateStore(BlobStore):
    """A store whose states also have a label, a log and an inbox.

    * The **log** is a list of texts that only the holder of the last claim extends. An append names
      the number of entries that it follows. One that is repeated, because its answer was lost, has
      no second effect; another one with a wrong number is refused.
    * The **inbox** is a list of texts to which anybody who knows the key can add.
    * The **label** and the time of creation are for lists: `states("running")` is of the running
      ones, the newest first.

    Texts are Unicode without half surrogates; NUL is allowed in none of them.
    """

    @abc.abstractmethod
    def create(self, key: str, data: bytes, *, label: str = "", created: float = 0.0) -> bool:
        """Make a state with a blob, unless there is one; whether it was made.

        Args:
            key: The key of the state.
            data: The blob.
            label: A text of at most 1,024 bytes.
            created: A number that places the state in lists: the larger, the earlier.

        Raises:
            ConfigurationError: An argument is invalid.
            StateRejected: The blob is larger than `max_bytes`.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def read(self, key: str) -> StoredState | None:
        """A state, whoever has claimed it; `None` if there is none.

        Raises:
            ConfigurationError: The key is invalid.
            StateRejected: The blob is larger than `max_bytes`, or is not bytes.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def states(self, label: str | None = None, limit: int = 100) -> Sequence[StoredState]:
        """States that were made with `create`, the newest first.

        States that are too large, or damaged, are left out.

        Args:
            label: Only states with this label; `None` for all.
            limit: The largest number of states.

        Raises:
            ConfigurationError: The limit is not a whole number from 0 on.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def take(self, key: str, token: str, seconds: float) -> TakenState | None:
        """Claim a state as `claim` does, and read all that belongs to it; `None` if there is none.

        Raises:
            ConfigurationError: The key, the token or the seconds are invalid.
            StateBusy: The claim of another token still holds.
            StateRejected: The blob is larger than `max_bytes`, or something that belongs to the
                state is damaged. The state is claimed.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def save(
        self, key: str, token: str, data: bytes, seconds: float, *, label: str | None = None
    ) -> None:
        """Replace the blob, and renew the claim; see `BlobStore.save`.

        Args:
            key: The key of the state.
            token: The token of the last claim.
            data: The blob.
            seconds: How long the claim holds from now on; 0 releases the state.
            label: The new label; `None` to leave it as it is.
        """

    @abc.abstractmethod
    def append(self, key: str, token: str, index: int, entries: Sequence[str]) -> None:
        """Extend the log; all entries are stored, or none.

        Args:
            key: The key of the state.
            token: The token of the last claim.
            index: The number of entries that the log has.
            entries: The entries.

        Raises:
            ConfigurationError: An argument is invalid.
            StateTaken: The token is not that of the last claim, or the state was deleted.
            StateRejected: The log has another number of entries, and not these ones there.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def log(self, key: str) -> Sequence[str]:
        """The entries of a log, in order; none if there is no such state.

        Raises:
            ConfigurationError: The key is invalid.
            StateRejected: An entry is missing, or is not text.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def send(self, key: str, message: str) -> int | None:
        """Add a message to the inbox, and return its number; `None` if there is no such state.

        Raises:
            ConfigurationError: The key or the message is invalid.
            StoreUnavailable: The store failed.
        """

    @abc.abstractmethod
    def inbox(self, key: str, after: int = 0) -> Sequence[tuple[int, str]]:
        """The messages of an inbox with a higher number than `after`, with their numbers.

        Raises:
            ConfigurationError: The key is invalid.
            StateRejected: A message is not text.
            StoreUnavailable: The store failed.
        """


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
    """Refuse a state or a token that no store can have.

    Raises:
        ConfigurationError: The key, or a token that is not `None`, is not a text that a store can
            have.
    """
    check_key(key)
    if token is not None:
        _check_token(token)


def check_idle(seconds: float) -> None:
    """Refuse a time that no state can have been idle.

    Raises:
        ConfigurationError: The seconds are not a number, are negative, or are too many.
    """
    _check_seconds("states expire after", seconds)


def check_key(key: str) -> None:
    """Refuse a key that no store can have.

    Raises:
        ConfigurationError: The key is empty, too long, or not Unicode text without NUL.
    """
    if not is_key(key):
        raise ConfigurationError(
            f"the key of a stored state is a text of 1 to {MAX_KEY_BYTES} bytes in UTF-8, "
            f"without NUL; got {shown(key)}"
        )


def check_create(key: str, label: str, created: float) -> None:
    """Refuse a new state that no store can have.

    Raises:
        ConfigurationError: The key or the label is not a text that a store can have, or the time of
            creation is not a finite number.
    """
    check_key(key)
    check_label(label)
    if not _is_number(created) or not math.isfinite(created):
        raise ConfigurationError(
            f"a state was created at a finite number of seconds; got {shown(created)}"
        )


def check_append(key: str, token: str, index: int, entries: Sequence[str]) -> None:
    """Refuse entries that no log can have.

    Raises:
        ConfigurationError: The key, the token or an entry is not a text that a store can have, the
            index is not a whole number from 0 on, or the entries are no list of texts.
    """
    check_claim(key, token, 0)
    if not _is_count(index):
        raise ConfigurationError(
            f"the index of an entry is a whole number from 0 on; got {shown(index)}"
        )
    if not isinstance(entries, (list, tuple)):
        raise ConfigurationError(f"the entries of a log are a list of texts; got {shown(entries)}")
    check_texts("an entry of a log", entries)


def check_limit(limit: int) -> None:
    """Refuse a limit that no list can have.

    Raises:
        ConfigurationError: It is not a whole number from 0 on.
    """
    if not _is_count(limit):
        raise ConfigurationError(
            f"the limit of a list is a whole number from 0 on; got {shown(limit)}"
        )


def check_label(label: str) -> None:
    """Refuse a label that no store can have.

    Raises:
        ConfigurationError: The label is too long, or not Unicode text without NUL.
    """
    if label != "" and not is_key(label):
        raise ConfigurationError(
            f"the label of a state is a text of at most {MAX_KEY_BYTES} bytes in UTF-8, without "
            f"NUL; got {shown(label)}"
        )


def check_texts(what: str, texts: Sequence[str]) -> None:
    """Refuse texts that not every store can have.

    Args:
        what: Names them in the message, as in "an entry of a log".
        texts: The texts.

    Raises:
        ConfigurationError: One is not text, or has a half surrogate or NUL.
    """
    for text in texts:
        if not is_unicode(text) or "\0" in text:
            raise ConfigurationError(
                f"{what} is a Unicode text without NUL; got {shown(text)}; encode it, as json.dumps"
                " does"
            )


def is_repeated(log: Sequence[str], index: int, entries: Sequence[str]) -> bool:
    """Whether a log has these entries at this place: they were stored, and the answer was lost."""
    return bool(entries) and list(log[index : index + len(entries)]) == list(entries)


def is_key(key: object) -> bool:
    """Whether a state may have this key; rows of a damaged store may have others."""
    if not is_unicode(key) or not key or "\0" in key:
        return False
    return len(key.encode()) <= MAX_KEY_BYTES


def is_unicode(text: object) -> TypeGuard[str]:
    """Whether a value is a text without half surrogates."""
    if not isinstance(text, str):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_token(token: object) -> None:
    if not is_key(token):
        raise ConfigurationError(
            f"the token of a claim is a text of 1 to {MAX_KEY_BYTES} bytes in UTF-8, without NUL; "
            f"got {shown(token)}"
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _check_seconds(what: str, seconds: Any) -> None:
    if not _is_number(seconds) or not 0 <= seconds <= MAX_CLAIM_SECONDS:
        raise ConfigurationError(f"{what} 0 to {MAX_CLAIM_SECONDS} seconds; got {shown(seconds)}")
