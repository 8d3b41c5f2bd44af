"""The kit notices stores that mix up labels, logs and inboxes, or forget what belongs together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

import attrs
import pytest

from interpstack import ConfigurationError
from interpstack_state import (
    MemoryStore,
    StateError,
    StateRejected,
    StateStore,
    StoredState,
    TakenState,
)
from interpstack_testing import StateStoreConformance


class _Overwriting(MemoryStore):
    """Makes a state over the one that is there."""

    def create(self, key: str, data: bytes, *, label: str = "", created: float = 0.0) -> bool:
        self._rows.pop(key, None)
        return super().create(key, data, label=label, created=created)


class _Oldest(MemoryStore):
    """Lists the oldest states first."""

    def states(self, label: str | None = None, limit: int = 100) -> Sequence[StoredState]:
        return super().states(label, 10**6)[::-1][:limit]


class _Unlabelled(MemoryStore):
    """Lists the states of all labels."""

    def states(self, label: str | None = None, limit: int = 100) -> Sequence[StoredState]:
        return super().states(None, limit)


class _Endless(MemoryStore):
    """Lists more states than the limit."""

    def states(self, label: str | None = None, limit: int = 100) -> Sequence[StoredState]:
        return super().states(label, limit + 1)


class _Claiming(MemoryStore):
    """Lists the states that were only claimed."""

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        data = super().claim(key, token, seconds)
        self._rows[key].created = 0.0
        return data


class _Erasing(MemoryStore):
    """Drops the label when a blob is saved."""

    def save(
        self, key: str, token: str, data: bytes, seconds: float, *, label: str | None = None
    ) -> None:
        super().save(key, token, data, seconds, label=label or "")


class _Shared(MemoryStore):
    """Lets two tokens take a state."""

    def take(self, key: str, token: str, seconds: float) -> TakenState | None:
        return super().take(key, token, 0)


class _Making(MemoryStore):
    """Makes a state that is missing when it is to be taken."""

    def take(self, key: str, token: str, seconds: float) -> TakenState | None:
        self.create(key, b"")
        return super().take(key, token, seconds)


class _Halved(MemoryStore):
    """Takes a state without its inbox."""

    def take(self, key: str, token: str, seconds: float) -> TakenState | None:
        taken = super().take(key, token, seconds)
        return taken and attrs.evolve(taken, inbox=())


class _InPart(MemoryStore):
    """Appends the entries before a wrong one."""

    def append(self, key: str, token: str, index: int, entries: Sequence[str]) -> None:
        if not isinstance(entries, (list, tuple)):
            raise ConfigurationError("the entries of a log are a list")
        for number, entry in enumerate(entries, index):
            super().append(key, token, number, [entry])


class _Anywhere(MemoryStore):
    """Appends whatever the index."""

    def append(self, key: str, token: str, index: int, entries: Sequence[str]) -> None:
        super().append(key, token, len(self._rows[key].log), entries)


class _Replacing(MemoryStore):
    """Replaces the entries from the index on."""

    def append(self, key: str, token: str, index: int, entries: Sequence[str]) -> None:
        del self._rows[key].log[index:]
        super().append(key, token, index, entries)


class _Strict(MemoryStore):
    """Refuses entries that are repeated."""

    def append(self, key: str, token: str, index: int, entries: Sequence[str]) -> None:
        if index < len(self._rows[key].log):
            raise StateRejected("the log has other entries")
        super().append(key, token, index, entries)


class _Trusting(MemoryStore):
    """Appends for whoever has ever claimed."""

    def append(self, key: str, token: str, index: int, entries: Sequence[str]) -> None:
        row = self._rows.get(key)
        super().append(key, (row and row.token) or token, index, entries)


class _Fussy(MemoryStore):
    """Strips the ends of texts."""

    def append(self, key: str, token: str, index: int, entries: Sequence[str]) -> None:
        super().append(key, token, index, [entry.strip() for entry in entries])

    def send(self, key: str, message: str) -> int | None:
        return super().send(key, message.strip())


class _FromZero(MemoryStore):
    """Numbers messages from 0 on."""

    def send(self, key: str, message: str) -> int | None:
        number = super().send(key, message)
        return None if number is None else number - 1


class _Emptied(MemoryStore):
    """Drops the messages of a state that is taken."""

    def take(self, key: str, token: str, seconds: float) -> TakenState | None:
        taken = super().take(key, token, seconds)
        if taken is not None:
            self._rows[key].inbox.clear()
        return taken


class _Repeating(MemoryStore):
    """Returns the whole inbox, whatever the number after which messages are asked for."""

    def inbox(self, key: str, after: int = 0) -> Sequence[tuple[int, str]]:
        return super().inbox(key)


class _Careless(MemoryStore):
    """Takes messages that no database can have."""

    def send(self, key: str, message: str) -> int | None:
        with suppress(ConfigurationError):
            return super().send(key, message)
        self._rows[key].inbox.append(message)
        return len(self._rows[key].inbox)


class _Remembering(MemoryStore):
    """Keeps the log and the inbox of a state that was deleted, for the next one of its key."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.left: dict[str, tuple[list[str], list[str]]] = {}

    def delete(self, key: str, token: str | None = None) -> bool:
        row = self._rows.get(key)
        deleted = super().delete(key, token)
        if row is not None:
            self.left[key] = row.log, row.inbox
        return deleted

    def expire(self, idle_seconds: float) -> int:
        self.left |= {key: (row.log, row.inbox) for key, row in self._rows.items()}
        return super().expire(idle_seconds)

    def create(self, key: str, data: bytes, *, label: str = "", created: float = 0.0) -> bool:
        made = super().create(key, data, label=label, created=created)
        if made and key in self.left:
            self._rows[key].log, self._rows[key].inbox = self.left[key]
        return made


class _Immortal(MemoryStore):
    """Lets only states expire that were claimed."""

    def expire(self, idle_seconds: float) -> int:
        never = {key: row for key, row in self._rows.items() if row.token is None}
        count = super().expire(idle_seconds)
        self._rows.update(never)
        return count


class _Boundless(MemoryStore):
    """Has no largest blob."""

    def check_size(self, size: int) -> None:
        return


_Kit = StateStoreConformance
_wrong_text = partial(_Kit.test_entries_are_stored_all_or_none, wrong="a\0b")
_wrong_index = partial(_Kit.test_entries_that_do_not_follow_the_last_one_are_refused, index=0)
_early_index = partial(_Kit.test_entries_that_do_not_follow_the_last_one_are_refused, index=1000)
_stale_token = partial(_Kit.test_a_stale_token_appends_nothing, index=1)
_wrong_message = partial(_Kit.test_what_is_no_message_is_refused, wrong="a\0b")
_deleted = partial(_Kit.test_a_deleted_state_leaves_no_log_and_no_inbox, token=None)


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (_Overwriting, _Kit.test_a_state_is_made_once),
        (_Overwriting, _Kit.test_one_of_many_makes_a_state),
        (_Overwriting, _Kit.test_a_state_that_was_claimed_is_not_made_again),
        (_Oldest, _Kit.test_states_are_listed_from_the_newest_on),
        (_Oldest, _Kit.test_lists_have_a_limit),
        (_Unlabelled, _Kit.test_states_are_listed_by_label),
        (_Endless, _Kit.test_lists_have_a_limit),
        (_Claiming, _Kit.test_a_state_that_was_claimed_is_not_made_again),
        (_Erasing, _Kit.test_saving_keeps_or_replaces_the_label),
        (_Shared, _Kit.test_a_taken_state_is_busy),
        (_Shared, _Kit.test_one_of_many_takes_a_state),
        (_Making, _Kit.test_a_state_that_is_missing_has_nothing),
        (_Halved, _Kit.test_a_state_is_taken_with_all_that_belongs_to_it),
        (_InPart, _wrong_text),
        (_Anywhere, _wrong_index),
        (_Anywhere, _early_index),
        (_Anywhere, _Kit.test_one_of_many_appends_at_an_index),
        (_Replacing, _wrong_index),
        (_Replacing, _Kit.test_one_of_many_appends_at_an_index),
        (_Strict, _Kit.test_entries_that_are_repeated_change_nothing),
        (_Trusting, _stale_token),
        (_Trusting, _Kit.test_a_state_that_is_free_can_be_taken),
        (_Fussy, _Kit.test_a_log_keeps_any_text),
        (_Fussy, _Kit.test_an_inbox_keeps_any_text),
        (_FromZero, _Kit.test_messages_are_numbered_from_1_on),
        (_FromZero, _Kit.test_messages_of_many_have_numbers_of_their_own),
        (_Emptied, _Kit.test_messages_stay_when_a_state_is_taken_or_saved),
        (_Repeating, _Kit.test_messages_are_numbered_from_1_on),
        (_Careless, _wrong_message),
        (_Remembering, _deleted),
        (_Remembering, _Kit.test_an_expired_state_leaves_no_log_and_no_inbox),
        (_Boundless, _Kit.test_a_blob_that_is_too_large_makes_no_state),
    ],
)
def test_a_broken_store_is_noticed(kind: type[StateStore], test: Any) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception, StateError)):
        test(_kit(kind))
    test(_kit(MemoryStore))


def test_a_state_that_never_expires_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Waited(Exception):
        pass

    def never(seconds: float) -> None:
        raise Waited

    monkeypatch.setattr("interpstack_testing.conformance.store_claims.time.sleep", never)
    with pytest.raises(Waited):
        _Kit.test_a_state_that_nobody_has_claimed_expires(_kit(_Immortal))


def test_a_store_without_logs_is_noticed() -> None:
    with pytest.raises(AssertionError):
        _kit(object).store()  # type: ignore[type-var]


def test_tests_of_claims_cannot_be_replaced_silently() -> None:
    with pytest.raises(TypeError, match="test_a_claim_ends_by_itself replaces a test of the kit"):

        class Kit(StateStoreConformance):
            def test_a_claim_ends_by_itself(self) -> None:
                pass


def test_gaps_are_named_by_their_tests() -> None:
    class Kit(StateStoreConformance):
        gaps: ClassVar = {"test_lists_have_a_limit": "it lists everything"}

    (mark,) = Kit.test_lists_have_a_limit.pytestmark  # type: ignore[attr-defined]
    assert mark.name == "xfail"
    with pytest.raises(TypeError, match="the kit has no such test"):
        type("Wrong", (StateStoreConformance,), {"gaps": {"test_of_nothing": "why"}})


def _kit(kind: type[StateStore]) -> StateStoreConformance:
    class Kit(StateStoreConformance):
        lasts: ClassVar[bool] = False
        made: StateStore | None = None

        def make_store(self, **options: Any) -> StateStore:
            if self.made is None:
                self.made = kind(**options)
            return self.made

    kit = Kit()
    kit.begin()
    return kit
