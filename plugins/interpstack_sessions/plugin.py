"""The hooks of the plugin, and its settings."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Final, Literal
from weakref import WeakKeyDictionary, proxy

from interpstack import (
    ConfigurationError,
    Outcome,
    SessionStorage,
    SessionView,
    Wrapper,
    hookimpl,
)
from interpstack.checks import expect, shown
from interpstack_sessions.claims import Claim, Terms, check_seconds
from interpstack_sessions.storage import ClaimedStorage
from interpstack_state import BlobStore, check_key, open_store

__all__ = ["VARIABLE", "StoredSessions", "plugin"]

#: The environment variable with the URL of the store of the plugin `sessions`.
VARIABLE: Final = "INTERPSTACK_SESSIONS"


class StoredSessions:
    """The plugin `sessions` with settings of its own.

    Args:
        store: The store of the states. By default, the store whose URL is in the environment
            variable `INTERPSTACK_SESSIONS`; it is opened on first use, and closed when the process
            ends.
        saves: When a state is saved. With `cell`, after each cell: any process can continue the
            session at once. With `sleep`, when the session hibernates or is closed: cells are
            faster, but a process that dies loses the cells since the last save, and the session
            stays claimed until `claim_seconds` after its last cell.
        claim_seconds: Seconds that the claim of a session holds. The claim is renewed while a cell
            runs; a process that stops responding for longer may lose the session to another.
        patience_seconds: Seconds to wait for a session that another process uses, before
            `StateBusy` is raised.

    Raises:
        ConfigurationError: An argument is wrong.
    """

    name: Final = "sessions"

    def __init__(
        self,
        store: BlobStore | None = None,
        *,
        saves: Literal["cell", "sleep"] = "cell",
        claim_seconds: float = 30.0,
        patience_seconds: float = 10.0,
    ) -> None:
        expect(
            store,
            (BlobStore, type(None)),
            "store takes a BlobStore, as open_store(url) opens",
        )
        if saves not in ("cell", "sleep"):
            raise ConfigurationError(f"saves takes 'cell' or 'sleep'; got {shown(saves)}")
        check_seconds("claim_seconds", claim_seconds, 0.1)
        check_seconds("patience_seconds", patience_seconds, 0)
        self._store, self._saves = store, saves
        self._lock = threading.Lock()
        self._terms = Terms(self._opened, float(claim_seconds), float(patience_seconds))
        self._storages: WeakKeyDictionary[SessionView, ClaimedStorage] = WeakKeyDictionary()

    @hookimpl
    def interpstack_keep_state(self, session: SessionView) -> SessionStorage:
        self._opened()  # a wrong setting comes out here
        check_key(session.key)
        storage = ClaimedStorage(proxy(session), Claim(self._terms, session.key), self._saves)
        self._storages[session] = storage
        return storage

    @hookimpl
    def interpstack_wrap_eval(self, session: SessionView) -> Wrapper[Outcome] | None:
        storage = self._storages.get(session)
        return None if storage is None else storage.around

    def _opened(self) -> BlobStore:
        with self._lock:
            if self._store is None:
                url = os.environ.get(VARIABLE, "")
                if not url:
                    raise ConfigurationError(
                        f"the plugin 'sessions' needs a store: set {VARIABLE} to its URL, as in "
                        "sqlite:////var/lib/sessions.db, or list StoredSessions(store) instead"
                    )
                self._store = open_store(url)
                atexit.register(self._store.close)
            return self._store


#: The plugin of the name `sessions`, whose store the environment names.
plugin: Final = StoredSessions()
