"""A store of states that can be away."""

from __future__ import annotations

from interpstack_state import MemoryStore, StoreUnavailable


class AwayStore(MemoryStore):
    """A store in memory that saves and renews nothing while it is away.

    Attributes:
        away: Whether it is.
    """

    away = False

    def save(
        self, key: str, token: str, data: bytes, seconds: float, *, label: str | None = None
    ) -> None:
        self._look()
        super().save(key, token, data, seconds, label=label)

    def renew(self, key: str, token: str, seconds: float) -> None:
        self._look()
        super().renew(key, token, seconds)

    def _look(self) -> None:
        if self.away:
            raise StoreUnavailable("the store is away")
