"""A database of each kind, with its store and a way around it."""

from __future__ import annotations

import abc
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from interpstack_state import PostgresStore, SQLiteStore
from interpstack_state.sql import SqlStore


class Database(abc.ABC):
    """A database in which a test changes rows behind the back of its store."""

    #: How pages name the kind of the database, and its type of bytes.
    kind: str
    bytes: str

    @abc.abstractmethod
    def store(self, **options: Any) -> SqlStore:
        """A store in the database."""

    @abc.abstractmethod
    def execute(self, statements: str) -> list[Any]:
        """Run statements, and return the rows of the last one."""

    @abc.abstractmethod
    def columns(self, table: str) -> list[str]:
        """The names of a table's columns, in order."""


class SQLiteDatabase(Database):
    kind, bytes = "SQLite", "BLOB"

    def __init__(self, path: Path) -> None:
        self.path = path

    def store(self, **options: Any) -> SqlStore:
        return SQLiteStore(self.path, **options)

    def execute(self, statements: str) -> list[Any]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            *first, last = filter(None, map(str.strip, statements.split(";")))
            for statement in first:
                connection.execute(statement)
            return connection.execute(last).fetchall()

    def columns(self, table: str) -> list[str]:
        return [name for (name,) in self.execute(f"SELECT name FROM pragma_table_info('{table}')")]


class PostgresDatabase(Database):
    kind, bytes = "PostgreSQL", "BYTEA"

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn

    def store(self, **options: Any) -> SqlStore:
        return PostgresStore(self.dsn, **options)

    def execute(self, statements: str) -> list[Any]:
        import psycopg

        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(statements.encode())
            return cursor.fetchall() if cursor.description else []

    def columns(self, table: str) -> list[str]:
        query = "SELECT column_name FROM information_schema.columns WHERE table_name = "
        return [name for (name,) in self.execute(f"{query}'{table}' ORDER BY ordinal_position")]


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """An empty database."""
    if request.param == "sqlite":
        return SQLiteDatabase(tmp_path / "states.db")
    return PostgresDatabase(request.getfixturevalue("postgres").new_database())


@pytest.fixture
def store(database: Database) -> Iterator[SqlStore]:
    """A store with the state `a`, which the token `one` has taken."""
    with database.store() as store:
        store.create("a", b"blob", label="running", created=1)
        store.take("a", "one", 600)
        store.append("a", "one", 0, ["first", "second", "third"])
        store.send("a", "hello")
        yield store
