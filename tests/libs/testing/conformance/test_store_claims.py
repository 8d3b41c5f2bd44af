"""The kit notices stores whose claims keep nobody out."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from interpstack_state import BlobStore, MemoryStore, StateBusy, StateTaken
from interpstack_testing import BlobStoreConformance


class _Open(MemoryStore):
    """Gives each state to whoever asks."""

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        return super().claim(key, token, 0)


class _Trusting(MemoryStore):
    """Saves for whoever has ever claimed."""

    def save(self, key: str, token: str, data: bytes, seconds: float) -> None:
        try:
            super().save(key, token, data, seconds)
        except StateTaken:
            self._rows[key].data = data


class _Endless(MemoryStore):
    """Has claims that cannot be given back."""

    def renew(self, key: str, token: str, seconds: float) -> None:
        super().renew(key, token, seconds or 600)


class _Strict(MemoryStore):
    """Refuses a token that claims twice."""

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        if any(one.key == key and one.claimed for one in self.blobs()):
            raise StateBusy(key, 1)
        return super().claim(key, token, seconds)


class _Remembering(MemoryStore):
    """Goes on with a token whose state was deleted."""

    def delete(self, key: str, token: str | None = None) -> bool:
        super().renew(key, token or self._rows[key].token, 0) if key in self._rows else None
        return key in self._rows


_Store = BlobStoreConformance


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (_Open, _Store.test_a_claimed_state_is_busy),
        (_Open, _Store.test_one_of_many_gets_the_claim),
        (_Trusting, _Store.test_a_stale_token_changes_nothing),
        (_Endless, lambda kit: kit.test_a_state_that_is_free_can_be_claimed(False)),
        (_Strict, _Store.test_a_token_may_claim_twice),
        (_Remembering, _Store.test_a_deleted_state_is_gone),
    ],
)
def test_a_broken_store_is_noticed(kind: type[BlobStore], test: Any) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception, StateBusy)):
        test(_kit(kind))
    test(_kit(MemoryStore))


def _kit(kind: type[BlobStore]) -> BlobStoreConformance:
    class Kit(BlobStoreConformance):
        lasts: ClassVar[bool] = False
        made = kind()

        def make_store(self, **options: Any) -> BlobStore:
            return self.made

    kit = Kit()
    kit.begin()
    return kit
