"""Conformance tests of the claims of a store."""

from __future__ import annotations

import abc
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Final

import pytest

from interpstack_state import BlobStore, StateBusy, StateTaken
from interpstack_testing.conformance import rules

__all__ = ["LONG", "ClaimTests", "soon"]

#: Seconds of a claim that does not end during a test.
LONG: Final = 600.0


@rules.kit
class ClaimTests(abc.ABC):
    """The tests of claims, and the parts that all tests of a store share."""

    #: Whether a store that is opened again has the states of the one that was closed.
    lasts: ClassVar[bool] = True
    #: What the store cannot do, by test name, and why.
    gaps: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        rules.check_overrides(cls, ClaimTests)
        rules.mark_gaps(cls, ClaimTests)

    @abc.abstractmethod
    def make_store(self, **options: Any) -> BlobStore:
        """A store, on the same place each time within a test; with the options of `BlobStore`.

        Only the tests use this place: they let all its states expire. A store that lasts nowhere
        returns the same object each time.
        """

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        rules.check_skips(metafunc.definition)

    @pytest.fixture(autouse=True)
    def _stores(self) -> Iterator[None]:
        self.begin()
        yield
        for store in self._open:
            for key in self._keys:
                with suppress(Exception):
                    store.delete(key)
            store.close()

    def begin(self) -> None:
        """Prepare a test, which has a key of its own."""
        self._open: list[BlobStore] = []
        self.key = f"key-{secrets.token_hex(8)}"
        self._keys = [self.key]

    def store(self, **options: Any) -> BlobStore:
        """A store that is closed at the end of the test."""
        made = self.make_store(**options)
        if made not in self._open:
            self._open.append(made)
        return made

    def named(self, ending: object) -> str:
        """A further key, whose state is deleted at the end of the test."""
        self._keys.append(f"{self.key}-{ending}")
        return self._keys[-1]

    # -- claims ----------------------------------------------------------------------------

    def test_a_claimed_state_is_busy(self) -> None:
        self.store().claim(self.key, "one", LONG)
        with pytest.raises(StateBusy) as caught:
            self.store().claim(self.key, "two", LONG)
        assert caught.value.key == self.key
        assert 0 < caught.value.wait_seconds <= LONG

    def test_the_end_of_a_claim_changes_when_it_is_renewed(self) -> None:
        store = self.store()
        store.claim(self.key, "one", LONG)
        ends = [self._end(store), self._end(store)]
        assert ends[0] == ends[1]
        store.renew(self.key, "one", 2 * LONG)
        assert self._end(store) > ends[0]

    def _end(self, store: BlobStore) -> float:
        with pytest.raises(StateBusy) as caught:
            store.claim(self.key, "two", LONG)
        return caught.value.until

    def test_a_token_may_claim_twice(self) -> None:
        store = self.store()
        store.claim(self.key, "one", LONG)
        store.save(self.key, "one", b"blob", LONG)
        assert store.claim(self.key, "one", LONG) == b"blob"

    def test_a_claim_ends_by_itself(self) -> None:
        store = self.store()
        store.claim(self.key, "one", 0.2)
        assert soon(lambda: store.claim(self.key, "two", LONG)) is None

    def test_a_renewed_claim_holds(self) -> None:
        store = self.store()
        store.claim(self.key, "one", 0)
        store.renew(self.key, "one", LONG)
        with pytest.raises(StateBusy):
            store.claim(self.key, "two", LONG)

    def test_saving_renews_the_claim(self) -> None:
        store = self.store()
        store.claim(self.key, "one", 0)
        store.save(self.key, "one", b"blob", LONG)
        with pytest.raises(StateBusy):
            store.claim(self.key, "two", LONG)

    @pytest.mark.parametrize("saves", [False, True])
    def test_a_state_that_is_free_can_be_claimed(self, saves: bool) -> None:
        store = self.store()
        store.claim(self.key, "one", LONG)
        if saves:
            store.save(self.key, "one", b"blob", 0)
        else:
            store.renew(self.key, "one", 0)
        assert store.claim(self.key, "two", LONG) == (b"blob" if saves else None)

    def test_a_token_is_valid_until_the_next_claim(self) -> None:
        store = self.store()
        store.claim(self.key, "one", 0)
        store.save(self.key, "one", b"blob", 0)
        store.renew(self.key, "one", 0)
        store.save(self.key, "one", b"later", 0)
        assert store.claim(self.key, "two", LONG) == b"later"

    def test_a_stale_token_changes_nothing(self) -> None:
        store = self.store()
        store.claim(self.key, "one", 0)
        self.store().claim(self.key, "two", LONG)
        self.store().save(self.key, "two", b"of two", LONG)
        self.refused(store, "one")
        with pytest.raises(StateBusy):
            store.claim(self.key, "one", LONG)
        assert store.claim(self.key, "two", LONG) == b"of two"

    def test_who_has_not_claimed_changes_nothing(self) -> None:
        store = self.store()
        with pytest.raises(StateTaken):
            store.renew(self.key, "one", LONG)
        with pytest.raises(StateTaken):
            store.save(self.key, "one", b"blob", LONG)
        assert not store.delete(self.key, "one")
        assert store.claim(self.key, "two", LONG) is None

    def test_one_of_many_gets_the_claim(self) -> None:
        stores = [self.store() for _ in range(2)]
        start = threading.Barrier(8)

        def claim(number: int) -> bool:
            start.wait()
            try:
                stores[number % 2].claim(self.key, f"token {number}", LONG)
            except StateBusy:
                return False
            return True

        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(claim, range(8))) == 1

    def test_no_change_is_lost_between_many(self) -> None:
        stores = [self.store() for _ in range(2)]

        def count(number: int) -> None:
            for turn in range(5):
                token, store = f"{number} {turn}", stores[number % 2]
                seen = soon(partial(store.claim, self.key, token, LONG))
                store.save(self.key, token, str(int(seen or b"0") + 1).encode(), 0)

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(count, range(4)))
        assert stores[0].claim(self.key, "end", 0) == b"20"

    def refused(self, store: BlobStore, token: str, *, deletes: bool = True) -> None:
        changes: list[Callable[[], Any]] = [
            partial(store.renew, self.key, token, LONG),
            partial(store.save, self.key, token, b"stale", LONG),
        ]
        if deletes:
            changes.append(partial(store.delete, self.key, token))
        for change in changes:
            with pytest.raises(StateTaken) as caught:
                change()
            assert caught.value.key == self.key


def soon(attempt: Callable[[], Any], until: Callable[[Any], Any] = lambda value: True) -> Any:
    """The value of an attempt, once the state is not busy."""
    while True:
        with suppress(StateBusy):
            value = attempt()
            if until(value):
                return value
        time.sleep(0.01)
