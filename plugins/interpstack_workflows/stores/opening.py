"""Stores of runs by their URL."""

from __future__ import annotations

from typing import Final

import attrs

from interpstack import ConfigurationError
from interpstack_state import STORE_URLS, DatabaseMissing, SQLiteStore, StateError, StateStore
from interpstack_state import open_store as open_state
from interpstack_workflows.stores.store import WorkflowStore

__all__ = ["SPACE", "STORE_URLS", "open_store"]

#: The space of workflows in a database.
SPACE: Final = "workflows"


def open_store(url: str, *, create: bool = True) -> WorkflowStore:
    """Open a store of runs; the caller closes it.

    Args:
        url: `memory:`, a path to a database of SQLite, or a URL that `interpstack_state.open_store`
            knows and whose store has logs and inboxes.
        create: Whether to make a database file that does not exist; otherwise it is refused. A
            database on a server must exist.

    Raises:
        ConfigurationError: The URL names no such store, or the store cannot be opened; the message
            says why.
    """
    if not isinstance(url, str) or not url:
        raise ConfigurationError(f"a store is named by {STORE_URLS}; got {url!r:.80}")
    try:
        state = open_state(url, create=create, space=SPACE)
    except DatabaseMissing as error:
        raise ConfigurationError(
            f"{error}. A run creates it: pass the database of an existing run, or start one"
        ) from error
    if not isinstance(state, StateStore):
        raise ConfigurationError(
            f"a {type(state).__name__} cannot keep runs: it has no logs and inboxes; a store is "
            f"named by {STORE_URLS}"
        )
    if isinstance(state, SQLiteStore):
        # A write survives the process; only a failing machine may lose the last ones.
        state = attrs.evolve(state, flushes=False)
    try:
        state.open()
    except StateError as error:
        state.close()
        raise ConfigurationError(f"the store cannot be opened: {error}") from error
    return WorkflowStore(state)
