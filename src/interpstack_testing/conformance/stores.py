"""Conformance tests for stores of blobs."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpstack.contracts.errors import ConfigurationError
from interpstack_state import MAX_KEY_BYTES, BlobStore, StateRejected, StoredBlob
from interpstack_testing.conformance import rules
from interpstack_testing.conformance.store_claims import LONG, ClaimTests, soon

__all__ = ["BlobStoreConformance"]

#: Keys that a store could take for each other.
_ALIKE: Final = ("a", "A", " a", "a ", "a/b", "a%", "a_", "a*", "a?", "a'b", "../a", "é", "e\u0301")


@rules.kit
class BlobStoreConformance(ClaimTests):
    """The tests of a store of blobs.

    ```python
    class TestMine(BlobStoreConformance):
        @pytest.fixture(autouse=True)
        def place(self, tmp_path):
            self.path = tmp_path / "states"

        def make_store(self, **options):
            return MyStore(self.path, **options)
    ```

    Declare missing abilities of the store in `gaps`, as for `EngineConformance`.
    """

    # -- there and back --------------------------------------------------------------------

    def test_a_new_state_has_no_blob(self) -> None:
        assert self.store().claim(self.key, "one", LONG) is None

    def test_what_was_saved_is_loaded(self) -> None:
        store = self.store()

        @settings(max_examples=30, deadline=None, database=None)
        @given(st.binary())
        def check(data: bytes) -> None:
            store.claim(self.key, "one", LONG)
            store.save(self.key, "one", data, 0)
            assert self.store().claim(self.key, "two", 0) == data

        check()

    def test_a_large_blob_comes_back_whole(self) -> None:
        data = secrets.token_bytes(2**20) * 3
        self.store().claim(self.key, "one", LONG)
        self.store().save(self.key, "one", data, LONG)
        assert self.store().claim(self.key, "one", LONG) == data

    def test_states_are_kept_apart(self) -> None:
        store = self.store()
        keys = [f"{self.key}{one}" for one in (*_ALIKE, "x" * (MAX_KEY_BYTES - len(self.key)))]
        for number, key in enumerate(keys):
            assert store.claim(key, "one", LONG) is None
            store.save(key, "one", str(number).encode(), 0)
        assert [store.claim(key, "two", 0) for key in keys] == [
            str(number).encode() for number in range(len(keys))
        ]
        for key in keys:
            assert store.delete(key)

    def test_what_is_no_key_is_refused(self) -> None:
        for key in ("", "a\0b", "\ud800", "x" * (MAX_KEY_BYTES + 1), "é" * MAX_KEY_BYTES, b"a", 1):
            with pytest.raises(ConfigurationError, match="the key of a stored state"):
                self.store().claim(key, "one", 0)  # type: ignore[arg-type]

    def test_what_is_no_claim_is_refused(self) -> None:
        for token in ("", "a\0b", "\ud800", "x" * (MAX_KEY_BYTES + 1), b"a", None):
            with pytest.raises(ConfigurationError, match="the token of a claim is a text"):
                self.store().claim(self.key, token, 0)  # type: ignore[arg-type]
        for seconds in (-1, float("nan"), float("inf"), 1e300, "1", True, None):
            with pytest.raises(ConfigurationError, match="a claim holds for 0 to"):
                self.store().claim(self.key, "one", seconds)  # type: ignore[arg-type]
        assert self.store().claim(self.key, "one", LONG) is None  # and none of these was made

    @pytest.mark.parametrize("seconds", [-1, -0.001, float("nan"), float("inf"), 1e300, True, "1"])
    def test_a_wrong_number_of_seconds_changes_nothing(self, seconds: Any) -> None:
        store = self.store()
        store.claim(self.key, "one", 0)
        store.save(self.key, "one", b"blob", 0)
        for change in (
            partial(store.renew, self.key, "one", seconds),
            partial(store.save, self.key, "one", b"other", seconds),
        ):
            with pytest.raises(ConfigurationError, match="a claim holds for 0 to"):
                change()
        with pytest.raises(ConfigurationError, match="states expire after 0 to"):
            store.expire(seconds)
        assert store.claim(self.key, "two", 0) == b"blob"

    def test_what_is_no_key_or_token_changes_nothing(self) -> None:
        store = self.store()
        store.claim(self.key, "one", 0)
        store.save(self.key, "one", b"blob", 0)
        pairs: list[tuple[Any, Any]] = [(key, "one") for key in ("", "a\0b", "\ud800", b"a", None)]
        pairs += [(self.key, token) for token in ("", "a\0b", "\ud800", b"one")]
        for key, token in pairs:
            for change in (
                partial(store.renew, key, token, 0),
                partial(store.save, key, token, b"other", 0),
                partial(store.delete, key, token),
            ):
                with pytest.raises(ConfigurationError, match="is a text of 1 to"):
                    change()
        assert store.claim(self.key, "two", 0) == b"blob"

    @pytest.mark.parametrize("data", ["text", None, 1, bytearray(b"other")])
    def test_a_blob_is_bytes(self, data: Any) -> None:
        store = self.store()
        store.claim(self.key, "one", 0)
        store.save(self.key, "one", b"blob", 0)
        with pytest.raises(ConfigurationError, match="the blob of a state is bytes"):
            store.save(self.key, "one", data, 0)
        assert store.claim(self.key, "two", 0) == b"blob"

    def test_a_store_that_is_opened_again_has_the_states(self) -> None:
        store = self.store()
        store.claim(self.key, "one", LONG)
        store.save(self.key, "one", b"blob", LONG)
        store.close()
        store.close()
        if self.lasts:
            assert self.store().claim(self.key, "one", LONG) == b"blob"

    # -- deleting --------------------------------------------------------------------------

    def test_a_deleted_state_is_gone(self) -> None:
        store = self.store()
        for token in (None, "one"):
            store.claim(self.key, "one", LONG)
            store.save(self.key, "one", b"blob", LONG)
            assert store.delete(self.key, token)
            assert not store.delete(self.key, token)
            self.refused(store, "one", deletes=False)
        assert store.claim(self.key, "two", LONG) is None
        self.refused(store, "one")

    def test_blobs_are_listed(self) -> None:
        store = self.store()
        assert self._listed(store) is None
        store.claim(self.key, "one", 0)
        new = self._listed(store)
        assert new is not None
        assert (new.size, new.claimed) == (0, False)
        store.save(self.key, "one", b"blob", LONG)
        saved = self._listed(store)
        assert saved is not None
        assert saved.size >= 4
        assert saved.claimed
        assert 0 <= saved.idle_seconds < LONG

    def _listed(self, store: BlobStore) -> StoredBlob | None:
        return next((one for one in store.blobs() if one.key == self.key), None)

    def test_idle_states_expire(self) -> None:
        store = self.store()
        store.claim(self.key, "one", 0)
        store.save(self.key, "one", b"blob", 0)
        store.expire(LONG)
        assert store.claim(self.key, "one", LONG) == b"blob"  # it was not idle for so long
        store.expire(0)
        assert store.claim(self.key, "one", 0) == b"blob"  # it was claimed
        assert soon(lambda: store.expire(0) or None, until=lambda count: count) >= 1
        assert store.claim(self.key, "two", 0) is None

    # -- sizes -----------------------------------------------------------------------------

    def test_a_blob_that_is_too_large_is_not_saved(self) -> None:
        store = self.store(max_bytes=1000)
        store.claim(self.key, "one", LONG)
        store.save(self.key, "one", b"blob", LONG)
        with pytest.raises(StateRejected, match="at most"):
            store.save(self.key, "one", bytes(1001), LONG)
        assert store.claim(self.key, "one", LONG) == b"blob"

    def test_a_blob_that_is_too_large_is_not_loaded(self) -> None:
        if not self.lasts:
            return  # the same object has one limit
        store = self.store()
        store.claim(self.key, "one", LONG)
        store.save(self.key, "one", bytes(2000), 0)
        small = self.store(max_bytes=1000)
        with pytest.raises(StateRejected, match="at most"):
            small.claim(self.key, "two", LONG)
        assert small.delete(self.key, "two")
