"""Every store of sessions passes the conformance kit."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any, ClassVar

import pytest

from interpstack_stores import (
    EncryptedStore,
    FileStore,
    MemoryStore,
    PostgresStore,
    RedisStore,
    SessionStore,
    SQLiteStore,
)
from interpstack_testing import SessionStoreConformance


class TestMemoryStore(SessionStoreConformance):
    lasts: ClassVar[bool] = False

    def make_store(self, **options: Any) -> SessionStore:
        if not hasattr(self, "made"):
            self.made = MemoryStore(**options)
        return self.made


class TestFileStore(SessionStoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "sessions"

    def make_store(self, **options: Any) -> SessionStore:
        return FileStore(self.path, **options)


class TestSQLiteStore(SessionStoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "sessions.db"

    def make_store(self, **options: Any) -> SessionStore:
        return SQLiteStore(self.path, **options)


class TestPostgresStore(SessionStoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, postgres: Any) -> None:
        self.dsn = postgres.new_database()

    def make_store(self, **options: Any) -> SessionStore:
        return PostgresStore(self.dsn, **options)


class TestRedisStore(SessionStoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, redis_server: Any) -> None:
        self.url, self.prefix = redis_server.url, f"test[{secrets.token_hex(4)}]*:"

    def make_store(self, **options: Any) -> SessionStore:
        return RedisStore(self.url, prefix=self.prefix, **options)


class TestEncryptedStore(TestFileStore):
    _KEY = secrets.token_bytes(32)

    def make_store(self, **options: Any) -> SessionStore:
        return EncryptedStore(super().make_store(**options), [self._KEY])
