"""A simulated store of states: one server, and a client of it in each process.

The server is the product's `MemoryStore`, so that claims, tokens and logs are the product's. A
client adds what networks and databases do: a call fails before it has an effect, or its effect
happens and the answer is lost. How long calls take is decided by the threads of the simulation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from interpstack_state import (
    MemoryStore,
    StateRejected,
    StateStore,
    StateTaken,
    StoredBlob,
    StoredState,
    StoreUnavailable,
    TakenState,
)

__all__ = ["Faults", "StoreClient", "StoreServer"]


@attrs.define
class Faults:
    """How often calls of a store fail.

    Attributes:
        chance: Decides which ones do.
        before: The share that fails without an effect.
        after: The share of which the answer is lost.
    """

    chance: random.Random
    before: float = 0.0
    after: float = 0.0

    def calm(self) -> None:
        """Let no call fail any more."""
        self.before = self.after = 0.0


@attrs.define(eq=False)
class StoreServer:
    """The store of states that all simulated processes share.

    Attributes:
        faults: What goes wrong on the way.
        saw: Called with the name and the arguments of each change that has happened, and with the
            number of entries that the log had before it.
        state: The states.
    """

    faults: Faults
    saw: Callable[..., None]
    state: MemoryStore = attrs.field(factory=MemoryStore)


class StoreClient(StateStore):
    """The connection of one process to the store."""

    def __init__(self, server: StoreServer) -> None:
        self._server = server

    @property
    def threads(self) -> int:
        return 1

    def _do(self, name: str, *args: Any, **named: Any) -> Any:
        server, faults = self._server, self._server.faults
        if faults.before and faults.chance.random() < faults.before:
            server.saw("fault", f"{name} fails")
            raise StoreUnavailable(f"{name}: the database is not there")
        length = len(server.state.log(args[0])) if name == "append" else 0
        try:
            result = getattr(server.state, name)(*args, **named)
        except (StateTaken, StateRejected) as refusal:
            server.saw("refused", *args, refusal)
            raise
        if name != "delete" or result:
            server.saw(name, *args, length=length, **named)
        if faults.after and faults.chance.random() < faults.after:
            server.saw("fault", f"the answer to {name} is lost")
            raise StoreUnavailable(f"{name}: the answer of the database was lost")
        return result

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        return self._do("claim", key, token, seconds)  # type: ignore[no-any-return]

    def renew(self, key: str, token: str, seconds: float) -> None:
        self._do("renew", key, token, seconds)

    def save(
        self, key: str, token: str, data: bytes, seconds: float, *, label: str | None = None
    ) -> None:
        self._do("save", key, token, data, seconds, label=label)

    def delete(self, key: str, token: str | None = None) -> bool:
        return self._do("delete", key, token)  # type: ignore[no-any-return]

    def blobs(self) -> Iterator[StoredBlob]:
        return self._server.state.blobs()

    def expire(self, idle_seconds: float) -> int:
        return self._do("expire", idle_seconds)  # type: ignore[no-any-return]

    def create(self, key: str, data: bytes, *, label: str = "", created: float = 0.0) -> bool:
        return self._do("create", key, data, label=label, created=created)  # type: ignore[no-any-return]

    def read(self, key: str) -> StoredState | None:
        return self._do("read", key)  # type: ignore[no-any-return]

    def states(self, label: str | None = None, limit: int = 100) -> Sequence[StoredState]:
        return self._do("states", label, limit)  # type: ignore[no-any-return]

    def take(self, key: str, token: str, seconds: float) -> TakenState | None:
        return self._do("take", key, token, seconds)  # type: ignore[no-any-return]

    def append(self, key: str, token: str, index: int, entries: Sequence[str]) -> None:
        self._do("append", key, token, index, entries)

    def log(self, key: str) -> Sequence[str]:
        return self._do("log", key)  # type: ignore[no-any-return]

    def send(self, key: str, message: str) -> int | None:
        return self._do("send", key, message)  # type: ignore[no-any-return]

    def inbox(self, key: str, after: int = 0) -> Sequence[tuple[int, str]]:
        return self._do("inbox", key, after)  # type: ignore[no-any-return]
