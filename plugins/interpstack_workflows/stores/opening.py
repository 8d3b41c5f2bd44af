"""Stores by their URL."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Final

from interpstack import ConfigurationError
from interpstack.checks import shown
from interpstack_workflows.stores.memory import MemoryWorkflowStore
from interpstack_workflows.stores.store import WorkflowStore

__all__ = ["STORE_URLS", "open_store"]

#: Distributions add kinds of stores in this group: a URL's scheme, and an `open_store` for it.
_GROUP: Final = "interpstack.workflow_stores"
_MEMORY: Final = "memory"
#: The scheme of a path.
_FILES: Final = "sqlite"
#: URLs that `open_store` takes where all extras are installed.
STORE_URLS: Final = "memory:, a path, sqlite:///relative.db, sqlite:////absolute.db, postgresql://…"


def open_store(url: str, *, create: bool = True) -> WorkflowStore:
    """Open a store; the caller closes it.

    Args:
        url: `memory:`, a path to a database of SQLite, or a URL of a kind that an installed
            distribution knows.
        create: Whether to make a database file that does not exist; otherwise it is refused. A
            database on a server must exist.

    Raises:
        ConfigurationError: No installed distribution knows such a URL, or the store cannot be
            opened; the message says why.
    """
    if not isinstance(url, str) or not url:
        raise ConfigurationError(f"a store is named by {STORE_URLS}; got {url!r:.80}")
    scheme, colon, _ = url.partition(":")
    if not colon or len(scheme) == 1 or "/" in scheme:  # a path, on Windows with a drive
        scheme = _FILES
    if scheme == _MEMORY:
        return MemoryWorkflowStore()
    known = {point.name: point for point in entry_points(group=_GROUP)}
    if scheme not in known:
        others = ", ".join(sorted({_MEMORY, *known}))
        raise ConfigurationError(
            f"no installed package opens stores of {scheme!r:.40}; known are {others}; "
            f"a store is named by {STORE_URLS}"
        )
    return _opened(known[scheme], url, create)


def _opened(point: EntryPoint, url: str, create: bool) -> WorkflowStore:
    try:
        function = point.load()
    except ImportError as error:
        raise ConfigurationError(
            f"stores of {point.name!r} need {error.name or error}, which is not installed; "
            "install it with: pip install 'interpstack[workflows]'"
        ) from error
    store = function(url, create=create)
    if not isinstance(store, WorkflowStore):
        raise ConfigurationError(
            f"{point.value} returned {shown(store)}, which is not a WorkflowStore"
        )
    return store
