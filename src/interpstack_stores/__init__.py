"""Stores of the states of sessions, which processes share: contract, implementations, encryption.

| Name | Is |
|---|---|
| `SessionStore` | base class: claims with fencing tokens, and states as bytes |
| `MemoryStore`, `FileStore`, `SQLiteStore` | stores for one process, or one machine |
| `PostgresStore`, `RedisStore` | stores for several machines |
| `EncryptedStore` | a store around another one, which reads and writes ciphertext |
| `open_store` | opens a store by URL |

The plugin `sessions` lets the sessions of a stack sleep in such a store.
"""

from __future__ import annotations

from interpstack_stores.contract import (
    MAX_KEY_BYTES,
    MAX_STATE_BYTES,
    SessionStore,
    StoredSession,
    check_claim,
    check_delete,
    check_idle,
    check_key,
)
from interpstack_stores.encrypted import EncryptedStore
from interpstack_stores.errors import (
    SessionBusy,
    SessionStoreError,
    SessionTaken,
    StateRejected,
    StoreUnavailable,
)
from interpstack_stores.files import FileStore
from interpstack_stores.memory import MemoryStore
from interpstack_stores.postgres import PostgresStore
from interpstack_stores.redis import RedisStore
from interpstack_stores.sqlite import SQLiteStore
from interpstack_stores.urls import open_store

__all__ = [
    "MAX_KEY_BYTES",
    "MAX_STATE_BYTES",
    "EncryptedStore",
    "FileStore",
    "MemoryStore",
    "PostgresStore",
    "RedisStore",
    "SQLiteStore",
    "SessionBusy",
    "SessionStore",
    "SessionStoreError",
    "SessionTaken",
    "StateRejected",
    "StoreUnavailable",
    "StoredSession",
    "check_claim",
    "check_delete",
    "check_idle",
    "check_key",
    "open_store",
]
