"""The table of learned types in a store of states, which many processes may change at once."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Final

from interpstack_learned.table import LearnedTable, MalformedTypes
from interpstack_state import BlobStore, StateBusy, StateStore

__all__ = ["add_types", "forget_types", "read_types"]

#: The space of open stores, and the key of the table in one.
SPACE: Final = "types"
_KEY: Final = "learned types"
#: Seconds of a claim, and seconds to wait for others: longer, since a process may die with a claim.
_SECONDS: Final = 5.0
_PATIENCE: Final = 6.0


def read_types(store: BlobStore) -> LearnedTable:
    """The types in a store.

    Raises:
        MalformedTypes: The store has something else in their place.
        StateError: The store cannot be read.
    """
    if isinstance(store, StateStore):
        state = store.read(_KEY)
        data = None if state is None else state.data
    else:
        token = secrets.token_hex(16)
        data = _claimed(store, token)
        store.renew(_KEY, token, 0)
    return LearnedTable.load(data) if data else LearnedTable()


def add_types(store: BlobStore, new: LearnedTable) -> None:
    """Add types to those in a store: what others have added meanwhile stays.

    Raises:
        MalformedTypes: The store has something else in their place, which stays there.
        StateError: The store cannot be read or written.
    """
    _change(store, lambda table: table.merge(new))


def forget_types(store: BlobStore, tool: str | None = None) -> int:
    """Remove all versions of a tool from a store, and return their number.

    Args:
        store: The store.
        tool: The tool's name; `None` for all tools, even if the stored form is damaged.

    Raises:
        MalformedTypes: The store has something else in the types' place.
        StateError: The store cannot be read or written.
    """
    if tool is None:
        try:
            count = len(read_types(store))
        except MalformedTypes:
            count = 0
        store.delete(_KEY)
        return count
    found: list[int] = []
    _change(store, lambda table: found.append(table.forget(tool)))
    return found[0]


def _change(store: BlobStore, change: Callable[[LearnedTable], None]) -> None:
    token = secrets.token_hex(16)
    data = _claimed(store, token)
    try:
        table = LearnedTable.load(data) if data else LearnedTable()
    except MalformedTypes:
        store.renew(_KEY, token, 0)
        raise
    change(table)
    store.save(_KEY, token, table.dump(), 0)


def _claimed(store: BlobStore, token: str) -> bytes | None:
    """Claim the table, and wait for others who use it."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return store.claim(_KEY, token, _SECONDS)
        except StateBusy as busy:
            if time.monotonic() > until:
                raise
            time.sleep(min(busy.wait_seconds, 0.05))
