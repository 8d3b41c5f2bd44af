"""Conformance tests for stores whose states also have a label, a log and an inbox."""

from __future__ import annotations

import abc
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpstack.contracts.errors import ConfigurationError
from interpstack_state import (
    MAX_KEY_BYTES,
    StateBusy,
    StateRejected,
    StateStore,
    StateTaken,
)
from interpstack_testing.conformance import rules
from interpstack_testing.conformance.store_claims import LONG, soon
from interpstack_testing.conformance.stores import BlobStoreConformance

__all__ = ["StateStoreConformance"]

#: Texts that a store could change: separators, quotes, marks, and what looks like an end.
_ODD: Final = (
    "",
    "\n",
    "a\r\nb\n",
    "\x01\x7f\x85\u2028\ufeff",
    "'\"\\%_?:$1",
    "null",
    "e\u0301é😀",
)
_NO_TEXTS: Final = ("\ud800", "a\0b", b"bytes", None, 1)
_texts: Final = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@rules.kit
class StateStoreConformance(BlobStoreConformance):
    """The tests of a store of states: those of `BlobStoreConformance`, and of what it adds."""

    @abc.abstractmethod
    def make_store(self, **options: Any) -> StateStore:
        """A store, as for `BlobStoreConformance`."""

    def store(self, **options: Any) -> StateStore:
        """A store that is closed at the end of the test."""
        made = super().store(**options)
        assert isinstance(made, StateStore)
        return made

    # -- making and reading ----------------------------------------------------------------

    def test_a_state_is_made_once(self) -> None:
        store = self.store()
        assert store.create(self.key, b"first", label="running", created=1)
        assert not self.store().create(self.key, b"second", label="done", created=2)
        assert self._seen(store) == ("running", b"first")

    def test_one_of_many_makes_a_state(self) -> None:
        stores = [self.store() for _ in range(2)]
        made = _at_once(8, lambda number: stores[number % 2].create(self.key, str(number).encode()))
        assert sum(made) == 1
        assert self._seen(stores[0]) == ("", str(made.index(True)).encode())

    def test_a_state_that_is_missing_has_nothing(self) -> None:
        store = self.store()
        assert store.read(self.key) is None
        assert store.take(self.key, "one", LONG) is None
        assert store.send(self.key, "message") is None
        assert list(store.log(self.key)) == []
        assert list(store.inbox(self.key)) == []
        with pytest.raises(StateTaken):
            store.append(self.key, "one", 0, ["entry"])
        assert store.create(self.key, b"blob")  # none of these has made it

    def test_a_state_can_be_read_while_it_is_claimed(self) -> None:
        store = self.store()
        store.create(self.key, b"blob", label="running")
        store.claim(self.key, "one", LONG)
        assert self._seen(self.store()) == ("running", b"blob")

    def test_a_state_that_was_made_can_be_claimed(self) -> None:
        store = self.store()
        store.create(self.key, b"blob")
        assert store.claim(self.key, "one", LONG) == b"blob"
        assert self.key in {one.key for one in store.blobs()}

    def test_a_state_that_was_claimed_and_never_saved_has_an_empty_blob(self) -> None:
        store = self.store()
        assert store.claim(self.key, "one", LONG) is None
        found = store.read(self.key)
        assert found is None or (found.label, found.data) == ("", b"")

    def test_a_state_that_was_claimed_is_not_made_again(self) -> None:
        store = self.store()
        store.claim(self.key, "one", 0)
        store.save(self.key, "one", b"blob", 0)
        assert not store.create(self.key, b"other", label="other")
        assert self._seen(store) == ("", b"blob")
        assert self._found(store) == []  # lists have states that were made only

    @pytest.mark.parametrize("label", ["\ud800", "a\0b", "x" * (MAX_KEY_BYTES + 1), b"a", None])
    def test_what_is_no_label_is_refused(self, label: Any) -> None:
        store = self.store()
        with pytest.raises(ConfigurationError, match="the label of a state is a text"):
            store.create(self.key, b"blob", label=label)
        assert store.read(self.key) is None
        store.create(self.key, b"blob", label="é" * (MAX_KEY_BYTES // 2))
        store.claim(self.key, "one", 0)
        if label is not None:  # which leaves the label as it is
            with pytest.raises(ConfigurationError, match="the label of a state is a text"):
                store.save(self.key, "one", b"other", 0, label=label)
        assert self._seen(store) == ("é" * (MAX_KEY_BYTES // 2), b"blob")

    @pytest.mark.parametrize("created", [float("nan"), float("inf"), "1", None, True])
    def test_what_is_no_time_of_creation_is_refused(self, created: Any) -> None:
        store = self.store()
        with pytest.raises(ConfigurationError, match="created at a finite number"):
            store.create(self.key, b"blob", created=created)
        assert store.read(self.key) is None

    @pytest.mark.parametrize("data", ["text", None, 1, bytearray(b"blob")])
    def test_the_blob_of_a_new_state_is_bytes(self, data: Any) -> None:
        with pytest.raises(ConfigurationError, match="the blob of a state is bytes"):
            self.store().create(self.key, data)
        assert self.store().read(self.key) is None

    @pytest.mark.parametrize("key", ["", "a\0b", "\ud800", "x" * (MAX_KEY_BYTES + 1), b"a", 1])
    def test_no_method_takes_what_is_no_key(self, key: Any) -> None:
        store = self.store()
        calls: list[Callable[[], Any]] = [
            partial(store.create, key, b"blob"),
            partial(store.read, key),
            partial(store.take, key, "one", 0),
            partial(store.append, key, "one", 0, ["entry"]),
            partial(store.log, key),
            partial(store.send, key, "message"),
            partial(store.inbox, key),
        ]
        for call in calls:
            with pytest.raises(ConfigurationError, match="the key of a stored state"):
                call()

    # -- lists -----------------------------------------------------------------------------

    def test_states_are_listed_from_the_newest_on(self) -> None:
        store = self.store()
        keys = {}
        for created in (3.5, -1.0, 1e9, 0.0, 1_732_900_000.25):
            keys[created] = self.named(created)
            store.create(keys[created], str(created).encode(), created=created)
        assert [(one.key, one.label, one.data) for one in self._all(store)] == [
            (keys[created], "", str(created).encode()) for created in sorted(keys, reverse=True)
        ]

    def test_states_are_listed_by_label(self) -> None:
        store = self.store()
        for number, label in enumerate(("", "a", "b", "a", "A", "a ")):
            store.create(self.named(number), b"", label=f"{self.key}{label}", created=number)
        assert self._found(store, f"{self.key}a") == ["3", "1"]
        assert self._found(store, f"{self.key}A") == ["4"]
        assert self._found(store, self.key) == ["0"]
        assert self._found(store, f"{self.key}c") == []
        assert self._found(store) == ["5", "4", "3", "2", "1", "0"]

    def test_lists_have_a_limit(self) -> None:
        store = self.store()
        for number in range(4):
            store.create(self.named(number), b"", label=self.key, created=number)
        assert self._found(store, self.key, 3) == ["3", "2", "1"]
        assert self._found(store, self.key, 0) == []
        assert len(store.states(None, 2)) == 2

    @pytest.mark.parametrize("limit", [-1, 1.5, "1", None, True])
    def test_what_is_no_limit_is_refused(self, limit: Any) -> None:
        with pytest.raises(ConfigurationError, match="the limit of a list"):
            self.store().states(None, limit)

    def test_saving_keeps_or_replaces_the_label(self) -> None:
        store = self.store()
        store.create(self.key, b"first", label=f"{self.key}old")
        store.claim(self.key, "one", LONG)
        store.save(self.key, "one", b"second", LONG)
        assert self._seen(store) == (f"{self.key}old", b"second")
        store.save(self.key, "one", b"third", LONG, label=f"{self.key}new")
        assert self._seen(store) == (f"{self.key}new", b"third")
        assert [len(store.states(f"{self.key}{label}")) for label in ("old", "new")] == [0, 1]
        with pytest.raises(StateTaken):
            store.save(self.key, "two", b"stale", LONG, label="stale")
        store.save(self.key, "one", b"fourth", LONG, label="")
        assert self._seen(store) == ("", b"fourth")

    # -- claims ----------------------------------------------------------------------------

    def test_a_state_is_taken_with_all_that_belongs_to_it(self) -> None:
        store = self.store()
        store.create(self.key, b"blob", label="running")
        new = store.take(self.key, "one", LONG)
        assert new is not None
        assert (list(new.log), list(new.inbox)) == ([], [])
        store.append(self.key, "one", 0, ["a", "b"])
        store.send(self.key, "hello")
        store.send(self.key, "again")
        taken = store.take(self.key, "one", LONG)  # a token may take twice
        assert taken is not None
        state = taken.state
        assert (state.key, state.label, state.data) == (self.key, "running", b"blob")
        assert list(taken.log) == ["a", "b"]
        assert list(taken.inbox) == [(1, "hello"), (2, "again")]

    def test_a_taken_state_is_busy(self) -> None:
        store = self.store()
        store.create(self.key, b"blob")
        store.take(self.key, "one", LONG)
        ends = set()
        for take in (store.take, self.store().take, store.claim):
            with pytest.raises(StateBusy) as caught:
                take(self.key, "two", LONG)
            assert caught.value.key == self.key
            assert 0 < caught.value.wait_seconds <= LONG
            ends.add(caught.value.until)
        assert len(ends) == 1  # the claim was not renewed
        store.renew(self.key, "one", 2 * LONG)
        with pytest.raises(StateBusy) as caught:
            store.take(self.key, "two", LONG)
        assert caught.value.until > ends.pop()

    def test_a_state_that_is_free_can_be_taken(self) -> None:
        store = self.store()
        store.create(self.key, b"blob")
        store.take(self.key, "one", 0.2)
        assert soon(lambda: self.store().take(self.key, "two", LONG)) is not None
        self.refused(store, "one")
        with pytest.raises(StateTaken):
            store.append(self.key, "one", 0, ["stale"])
        assert list(store.log(self.key)) == []

    def test_one_of_many_takes_a_state(self) -> None:
        stores = [self.store() for _ in range(2)]
        stores[0].create(self.key, b"blob")

        def take(number: int) -> bool:
            try:
                return stores[number % 2].take(self.key, f"token {number}", LONG) is not None
            except StateBusy:
                return False

        assert sum(_at_once(8, take)) == 1

    @pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "1", True, None])
    def test_a_state_is_not_taken_for_a_wrong_number_of_seconds(self, seconds: Any) -> None:
        store = self.store()
        store.create(self.key, b"blob")
        with pytest.raises(ConfigurationError, match="a claim holds for 0 to"):
            store.take(self.key, "one", seconds)
        assert store.take(self.key, "two", LONG) is not None

    # -- logs ------------------------------------------------------------------------------

    def test_entries_stay_in_order(self) -> None:
        store = self._logging()
        store.append(self.key, "one", 0, ["0"])
        store.append(self.key, "one", 1, ["1", "2", "3"])
        store.append(self.key, "one", 4, ("4",))
        store.save(self.key, "one", b"other", 0)
        assert list(self.store().log(self.key)) == ["0", "1", "2", "3", "4"]

    def test_a_log_keeps_any_text(self) -> None:
        store = self._logging()
        store.append(self.key, "one", 0, list(_ODD))
        assert list(store.log(self.key)) == list(_ODD)
        length = len(_ODD)

        @settings(max_examples=30, deadline=None, database=None)
        @given(st.lists(_texts, max_size=4))
        def check(entries: list[str]) -> None:
            nonlocal length
            store.append(self.key, "one", length, entries)
            length += len(entries)
            assert list(store.log(self.key))[length - len(entries) :] == entries

        check()

    def test_a_log_keeps_many_entries_and_long_ones(self) -> None:
        store = self._logging()
        entries = [f"entry {number}" for number in range(2000)]
        store.append(self.key, "one", 0, entries)
        store.append(self.key, "one", 2000, ["é" * 2**20])
        assert list(self.store().log(self.key)) == [*entries, "é" * 2**20]

    @pytest.mark.parametrize("index", [0, 1, 3, 1000])
    def test_entries_that_do_not_follow_the_last_one_are_refused(self, index: int) -> None:
        store = self._logging()
        store.append(self.key, "one", 0, ["a", "b"])
        for entries in (["b", "a"], ["b", "c"], ["c"]):
            with pytest.raises(StateRejected, match="has 2 entries"):
                store.append(self.key, "one", index, entries)
        assert list(store.log(self.key)) == ["a", "b"]

    def test_entries_that_are_repeated_change_nothing(self) -> None:
        store = self._logging()
        store.append(self.key, "one", 0, ["a", "b"])
        store.append(self.key, "one", 0, ["a", "b"])  # its answer was lost
        store.append(self.key, "one", 2, ["c"])
        store.append(self.key, "one", 2, ["c"])
        store.append(self.key, "one", 0, ["a", "b"])
        with pytest.raises(StateRejected, match="has 3 entries"):
            store.append(self.key, "one", 2, ["c", "d"])
        assert list(store.log(self.key)) == ["a", "b", "c"]

    def test_no_entries_change_nothing(self) -> None:
        store = self._logging()
        store.append(self.key, "one", 0, [])
        store.append(self.key, "one", 0, ["a"])
        store.append(self.key, "one", 1, [])
        assert list(store.log(self.key)) == ["a"]

    @pytest.mark.parametrize("index", [0, 1])
    def test_a_stale_token_appends_nothing(self, index: int) -> None:
        store = self._logging()
        store.append(self.key, "one", 0, ["a"])
        store.renew(self.key, "one", 0)
        self.store().take(self.key, "two", LONG)
        for entries in (["stale"], []):
            with pytest.raises(StateTaken) as caught:
                store.append(self.key, "one", index, entries)
            assert caught.value.key == self.key
        store.append(self.key, "two", 1, ["b"])
        assert list(store.log(self.key)) == ["a", "b"]

    def test_a_token_appends_until_the_next_claim(self) -> None:
        store = self._logging()
        store.renew(self.key, "one", 0)
        store.append(self.key, "one", 0, ["a"])
        assert list(store.log(self.key)) == ["a"]

    @pytest.mark.parametrize("wrong", _NO_TEXTS)
    def test_entries_are_stored_all_or_none(self, wrong: Any) -> None:
        store = self._logging()
        with pytest.raises(ConfigurationError, match="an entry of a log is a Unicode text"):
            store.append(self.key, "one", 0, ["good", wrong, "good"])
        assert list(store.log(self.key)) == []
        store.append(self.key, "one", 0, ["a"])
        assert list(store.log(self.key)) == ["a"]

    @pytest.mark.parametrize(
        ("index", "entries"),
        [(-1, ["a"]), (1.0, ["a"]), ("0", ["a"]), (None, ["a"]), (0, "ab"), (0, None)],
    )
    def test_what_is_no_index_or_list_is_refused(self, index: Any, entries: Any) -> None:
        store = self._logging()
        with pytest.raises(ConfigurationError, match=r"the index of an entry|entries of a log are"):
            store.append(self.key, "one", index, entries)
        assert list(store.log(self.key)) == []

    def test_one_of_many_appends_at_an_index(self) -> None:
        stores = [self._logging(), self.store()]
        winners = []
        for index in range(5):

            def append(number: int, index: int = index) -> bool:
                entries = [f"{index} of {number}"]
                try:
                    stores[number % 2].append(self.key, "one", index, entries)
                except StateRejected:
                    return False
                return True

            won = _at_once(6, append)
            assert sum(won) == 1
            winners.append(f"{index} of {won.index(True)}")
        assert list(stores[0].log(self.key)) == winners

    # -- inboxes ---------------------------------------------------------------------------

    def test_messages_are_numbered_from_1_on(self) -> None:
        store = self._logging()
        assert [self.store().send(self.key, text) for text in "abc"] == [1, 2, 3]
        assert list(store.inbox(self.key)) == [(1, "a"), (2, "b"), (3, "c")]
        assert list(store.inbox(self.key, 1)) == [(2, "b"), (3, "c")]
        assert list(store.inbox(self.key, 3)) == list(store.inbox(self.key, 1000)) == []
        assert list(store.log(self.key)) == []

    def test_messages_stay_when_a_state_is_taken_or_saved(self) -> None:
        store = self._logging()
        store.send(self.key, "a")
        store.take(self.key, "one", LONG)
        store.save(self.key, "one", b"other", 0)
        assert store.send(self.key, "b") == 2
        assert list(store.inbox(self.key)) == [(1, "a"), (2, "b")]

    def test_an_inbox_keeps_any_text(self) -> None:
        store = self._logging()
        for number, text in enumerate(_ODD, 1):
            assert store.send(self.key, text) == number
        assert [text for _, text in store.inbox(self.key)] == list(_ODD)

        @settings(max_examples=30, deadline=None, database=None)
        @given(_texts)
        def check(text: str) -> None:
            number = store.send(self.key, text)
            assert number is not None
            assert list(store.inbox(self.key, number - 1)) == [(number, text)]

        check()

    @pytest.mark.parametrize("wrong", _NO_TEXTS)
    def test_what_is_no_message_is_refused(self, wrong: Any) -> None:
        store = self._logging()
        with pytest.raises(ConfigurationError, match="a message is a Unicode text"):
            store.send(self.key, wrong)
        assert list(store.inbox(self.key)) == []
        assert store.send(self.key, "first") == 1

    def test_messages_of_many_have_numbers_of_their_own(self) -> None:
        stores = [self._logging(), self.store()]

        def send(number: int) -> list[tuple[int | None, str]]:
            texts = [f"{turn} of {number}" for turn in range(5)]
            return [(stores[number % 2].send(self.key, text), text) for text in texts]

        sent = [one for some in _at_once(4, send) for one in some]
        assert sorted(number or 0 for number, _ in sent) == list(range(1, 21))
        assert sorted(sent) == list(stores[0].inbox(self.key))

    # -- ends ------------------------------------------------------------------------------

    @pytest.mark.parametrize("token", [None, "one"])
    def test_a_deleted_state_leaves_no_log_and_no_inbox(self, token: str | None) -> None:
        store = self._logging()
        store.append(self.key, "one", 0, ["a", "b"])
        store.send(self.key, "hello")
        assert store.delete(self.key, token)
        self._is_new(store)

    def test_an_expired_state_leaves_no_log_and_no_inbox(self) -> None:
        store = self._logging()
        store.append(self.key, "one", 0, ["a", "b"])
        store.send(self.key, "hello")
        store.expire(0)
        assert store.read(self.key) is not None  # it was claimed
        store.renew(self.key, "one", 0)
        soon(lambda: store.expire(0), until=lambda _: store.read(self.key) is None)
        self._is_new(store)

    def test_a_state_that_nobody_has_claimed_expires(self) -> None:
        store = self.store()
        store.create(self.key, b"blob")
        store.expire(LONG)
        assert store.read(self.key) is not None
        soon(lambda: store.expire(0), until=lambda _: store.read(self.key) is None)

    def test_a_store_that_is_opened_again_has_all_that_belongs_to_a_state(self) -> None:
        store = self.store()
        store.create(self.key, b"blob", label=self.key, created=1)
        store.take(self.key, "one", LONG)
        store.append(self.key, "one", 0, ["a", "b"])
        store.send(self.key, "hello")
        store.close()
        if not self.lasts:
            return
        again = self.store()
        assert [one.data for one in again.states(self.key)] == [b"blob"]
        with pytest.raises(StateBusy):
            again.take(self.key, "two", LONG)
        taken = again.take(self.key, "one", LONG)
        assert taken is not None
        assert (list(taken.log), list(taken.inbox)) == (["a", "b"], [(1, "hello")])
        again.append(self.key, "one", 2, ["c"])
        assert again.send(self.key, "again") == 2

    # -- sizes -----------------------------------------------------------------------------

    def test_a_blob_that_is_too_large_makes_no_state(self) -> None:
        store = self.store(max_bytes=1000)
        with pytest.raises(StateRejected, match="at most"):
            store.create(self.key, bytes(1001))
        assert store.read(self.key) is None

    def test_a_blob_that_is_too_large_is_not_read(self) -> None:
        if not self.lasts:
            return  # the same object has one limit
        large, small = self.named("large"), self.named("small")
        self.store().create(large, bytes(2000), label=self.key)
        self.store().create(small, b"blob", label=self.key)
        store = self.store(max_bytes=1000)
        with pytest.raises(StateRejected, match="at most"):
            store.read(large)
        assert [one.key for one in store.states(self.key)] == [small]
        with pytest.raises(StateRejected, match="at most"):
            store.take(large, "one", LONG)
        with pytest.raises(StateBusy):  # the state was claimed all the same
            store.take(large, "two", LONG)
        assert store.delete(large, "one")

    # -- parts of tests --------------------------------------------------------------------

    def _logging(self) -> StateStore:
        """A store with a state that the token "one" has claimed."""
        store = self.store()
        store.create(self.key, b"blob")
        store.take(self.key, "one", LONG)
        return store

    def _seen(self, store: StateStore) -> tuple[str, bytes]:
        found = store.read(self.key)
        assert found is not None
        assert found.key == self.key
        return found.label, found.data

    def _all(self, store: StateStore, label: str | None = None, limit: int = 100_000) -> list[Any]:
        """The states of this test, among those that others have left."""
        return [one for one in store.states(label, limit) if one.key.startswith(self.key)]

    def _found(
        self, store: StateStore, label: str | None = None, limit: int = 100_000
    ) -> list[str]:
        """The endings of their keys."""
        return [one.key.removeprefix(f"{self.key}-") for one in self._all(store, label, limit)]

    def _is_new(self, store: StateStore) -> None:
        """Check that nothing is left of a deleted state."""
        assert store.read(self.key) is None
        assert list(store.log(self.key)) == []
        assert list(store.inbox(self.key)) == []
        with pytest.raises(StateTaken):
            store.append(self.key, "one", 2, ["late"])
        assert store.create(self.key, b"new", label="new")
        taken = store.take(self.key, "two", LONG)
        assert taken is not None
        assert (list(taken.log), list(taken.inbox)) == ([], [])
        assert store.send(self.key, "first") == 1
        store.append(self.key, "two", 0, ["first"])
        assert list(store.log(self.key)) == ["first"]


def _at_once(count: int, call: Callable[[int], Any]) -> list[Any]:
    """What a call returns in each of some threads, which begin at the same time."""
    start = threading.Barrier(count)

    def begin(number: int) -> Any:
        start.wait()
        return call(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(begin, range(count)))
