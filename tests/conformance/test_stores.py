"""Every store of states passes the conformance kit."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any, ClassVar

import pytest

from interpstack_state import (
    BlobStore,
    EncryptedStateStore,
    EncryptedStore,
    FileStore,
    MemoryStore,
    PostgresStore,
    RedisStore,
    SQLiteStore,
    StateStore,
)
from interpstack_testing import BlobStoreConformance, StateStoreConformance

_KEY = secrets.token_bytes(32)


class TestMemoryStore(StateStoreConformance):
    lasts: ClassVar[bool] = False

    def make_store(self, **options: Any) -> StateStore:
        if not hasattr(self, "made"):
            self.made = MemoryStore(**options)
        return self.made


class TestSQLiteStore(StateStoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "states.db"

    def make_store(self, **options: Any) -> StateStore:
        return SQLiteStore(self.path, **options)


class TestPostgresStore(StateStoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, postgres: Any) -> None:
        self.dsn = postgres.new_database()

    def make_store(self, **options: Any) -> StateStore:
        return PostgresStore(self.dsn, **options)


class TestEncryptedStateStore(TestSQLiteStore):
    def make_store(self, **options: Any) -> StateStore:
        return EncryptedStateStore(super().make_store(**options), [_KEY])


class TestFileStore(BlobStoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "states"

    def make_store(self, **options: Any) -> BlobStore:
        return FileStore(self.path, **options)


class TestRedisStore(BlobStoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, redis_server: Any) -> None:
        self.url, self.prefix = redis_server.url, f"test[{secrets.token_hex(4)}]*:"

    def make_store(self, **options: Any) -> BlobStore:
        return RedisStore(self.url, prefix=self.prefix, **options)


class TestEncryptedStore(TestFileStore):
    def make_store(self, **options: Any) -> BlobStore:
        return EncryptedStore(super().make_store(**options), [_KEY])
