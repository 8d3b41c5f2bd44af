"""Stores by URL."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpstack import ConfigurationError
from interpstack_stores import (
    FileStore,
    MemoryStore,
    PostgresStore,
    RedisStore,
    SQLiteStore,
    open_store,
)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("memory:", MemoryStore),
        ("file:///var/lib/sessions", FileStore),
        ("sqlite:///var/lib/a%20b.db", SQLiteStore),
        ("postgresql://host/name", PostgresStore),
        ("postgres://host/name", PostgresStore),
        ("redis://host:6379/0", RedisStore),
        ("rediss://host:6379/0", RedisStore),
        ("unix:///run/redis.sock", RedisStore),
    ],
)
def test_each_scheme_has_its_store(url: str, kind: type) -> None:
    store = open_store(url, max_bytes=77)
    assert type(store) is kind
    assert store.max_bytes == 77


def test_paths_are_absolute_or_relative() -> None:
    absolute, relative = open_store("sqlite:///var/a%20b.db"), open_store("sqlite:var/b.db")
    assert isinstance(absolute, SQLiteStore)
    assert isinstance(relative, SQLiteStore)
    assert (absolute.path, relative.path) == (Path("/var/a b.db"), Path("var/b.db"))


@pytest.mark.parametrize("url", ["mysql://host", "", "sessions.db", "://"])
def test_other_schemes_are_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"a URL begins with file:, memory:"):
        open_store(url)


@pytest.mark.parametrize(
    "url", ["sqlite:", "sqlite://host/file", "file:///dir?x=1", "file:x#y", "sqlite:///a%00b"]
)
def test_paths_of_another_form_are_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="the URL of a path is like"):
        open_store(url)


def test_a_url_that_cannot_be_read_is_refused_without_its_password() -> None:
    with pytest.raises(ConfigurationError, match="the redis: URL of a store") as refused:
        open_store("redis://user:secret@[::1")
    assert "secret" not in str(refused.value)
