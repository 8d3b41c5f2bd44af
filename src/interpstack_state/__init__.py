"""State that processes share: leases, blobs, logs and inboxes, in memory, files and databases.

| Name | Is |
|---|---|
| `BlobStore` | base class: claims with fencing tokens, and blobs |
| `StateStore` | base class: a `BlobStore` whose states also have a label, a log and an inbox |
| `MemoryStore`, `SQLiteStore`, `PostgresStore` | for one process, one machine, several machines |
| `SqlStore` | base class: a `StateStore` in tables of a database |
| `FileStore`, `RedisStore` | for one machine, several machines; blobs alone |
| `EncryptedStore`, `EncryptedStateStore` | stores around others: they read and write ciphertext |
| `open_store` | opens a store by URL |
| `StoreThreads` | calls a store from an event loop, in threads of its own |

The plugin `sessions` lets the sessions of a stack sleep in a blob store; runs of workflows are in a
state store.
"""

from __future__ import annotations

from interpstack_state.contract import (
    MAX_KEY_BYTES,
    MAX_STATE_BYTES,
    BlobStore,
    StateStore,
    StoredBlob,
    StoredState,
    TakenState,
    check_append,
    check_claim,
    check_create,
    check_delete,
    check_idle,
    check_key,
    check_label,
    check_limit,
    check_texts,
)
from interpstack_state.encrypted import EncryptedStateStore, EncryptedStore
from interpstack_state.errors import (
    DatabaseMissing,
    StateBusy,
    StateError,
    StateRejected,
    StateTaken,
    StoreUnavailable,
)
from interpstack_state.files import FileStore
from interpstack_state.memory import MemoryStore
from interpstack_state.postgres import PostgresStore
from interpstack_state.redis import RedisStore
from interpstack_state.sql import SqlStore
from interpstack_state.sqlite import SQLiteStore, until_free
from interpstack_state.threads import StoreThreads
from interpstack_state.urls import STORE_URLS, open_store, path_of_url

__all__ = [
    "MAX_KEY_BYTES",
    "MAX_STATE_BYTES",
    "STORE_URLS",
    "BlobStore",
    "DatabaseMissing",
    "EncryptedStateStore",
    "EncryptedStore",
    "FileStore",
    "MemoryStore",
    "PostgresStore",
    "RedisStore",
    "SQLiteStore",
    "SqlStore",
    "StateBusy",
    "StateError",
    "StateRejected",
    "StateStore",
    "StateTaken",
    "StoreThreads",
    "StoreUnavailable",
    "StoredBlob",
    "StoredState",
    "TakenState",
    "check_append",
    "check_claim",
    "check_create",
    "check_delete",
    "check_idle",
    "check_key",
    "check_label",
    "check_limit",
    "check_texts",
    "open_store",
    "path_of_url",
    "until_free",
]
