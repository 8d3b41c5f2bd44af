"""The kit notices stores that keep too much, or too little, or mix sessions up."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from interpstack_stores import MemoryStore, SessionStore
from interpstack_testing import SessionStoreConformance


class _Forgetful(MemoryStore):
    """Has no state any more once a session is given back."""

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
    """Has no largest state."""

    def check_size(self, size: int) -> None:
        return


class _Eternal(MemoryStore):
    """Lets nothing expire."""

    def expire(self, idle_seconds: float) -> int:
        return 1


class _Hasty(MemoryStore):
    """Lets everything expire."""

    def expire(self, idle_seconds: float) -> int:
        return sum(self.delete(one.key) for one in self.sessions()) or 1


class _Blind(MemoryStore):
    """Lists nothing."""

    def sessions(self) -> Any:
        return iter(())


_Store = SessionStoreConformance


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (_Forgetful, _Store.test_what_was_saved_is_loaded),
        (_Forgetful, _Store.test_a_large_state_comes_back_whole),
        (_Confused, _Store.test_sessions_are_kept_apart),
        (_Boundless, _Store.test_a_state_that_is_too_large_is_not_saved),
        (_Eternal, _Store.test_idle_sessions_expire),
        (_Hasty, _Store.test_idle_sessions_expire),
        (_Blind, _Store.test_sessions_are_listed),
    ],
)
def test_a_broken_store_is_noticed(kind: type[SessionStore], test: Any) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test(_kit(kind))
    test(_kit(MemoryStore))


def _kit(kind: type[SessionStore]) -> SessionStoreConformance:
    class Kit(SessionStoreConformance):
        lasts: ClassVar[bool] = False
        made = kind(max_bytes=1000) if kind is _Boundless else None

        def make_store(self, **options: Any) -> SessionStore:
            self.made = self.made or kind(**options)
            return self.made

    kit = Kit()
    kit.begin()
    return kit
