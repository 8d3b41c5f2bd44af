"""The kit notices stores that keep too much, or too little, or mix states up."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from interpstack_state import BlobStore, MemoryStore
from interpstack_testing import BlobStoreConformance


class _Forgetful(MemoryStore):
    """Has no blob any more once a state is given back."""

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        super().claim(key, token, seconds)
        return None


class _Confused(MemoryStore):
    """Takes keys for each other that differ only in case."""

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        return super().claim(key.lower() if isinstance(key, str) else key, token, seconds)

    def save(self, key: str, token: str, data: bytes, seconds: float) -> None:
        super().save(key.lower(), token, data, seconds)


class _Boundless(MemoryStore):
    """Has no largest blob."""

    def check_size(self, size: int) -> None:
        return


class _Eternal(MemoryStore):
    """Lets nothing expire."""

    def expire(self, idle_seconds: float) -> int:
        return 1


class _Hasty(MemoryStore):
    """Lets everything expire."""

    def expire(self, idle_seconds: float) -> int:
        return sum(self.delete(one.key) for one in self.blobs()) or 1


class _Blind(MemoryStore):
    """Lists nothing."""

    def blobs(self) -> Any:
        return iter(())


_Store = BlobStoreConformance


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (_Forgetful, _Store.test_what_was_saved_is_loaded),
        (_Forgetful, _Store.test_a_large_blob_comes_back_whole),
        (_Confused, _Store.test_states_are_kept_apart),
        (_Boundless, _Store.test_a_blob_that_is_too_large_is_not_saved),
        (_Eternal, _Store.test_idle_states_expire),
        (_Hasty, _Store.test_idle_states_expire),
        (_Blind, _Store.test_blobs_are_listed),
    ],
)
def test_a_broken_store_is_noticed(kind: type[BlobStore], test: Any) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test(_kit(kind))
    test(_kit(MemoryStore))


def _kit(kind: type[BlobStore]) -> BlobStoreConformance:
    class Kit(BlobStoreConformance):
        lasts: ClassVar[bool] = False
        made = kind(max_bytes=1000) if kind is _Boundless else None

        def make_store(self, **options: Any) -> BlobStore:
            self.made = self.made or kind(**options)
            return self.made

    kit = Kit()
    kit.begin()
    return kit
