"""Stores by URL, for configuration files and environment variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from interpstack import ConfigurationError
from interpstack.checks import expect
from interpstack_stores.contract import SessionStore
from interpstack_stores.files import FileStore
from interpstack_stores.memory import MemoryStore
from interpstack_stores.postgres import PostgresStore
from interpstack_stores.redis import RedisStore
from interpstack_stores.sqlite import SQLiteStore

__all__ = ["open_store"]


def _at(kind: Callable[..., SessionStore]) -> Callable[..., SessionStore]:
    """Stores of one machine: `sqlite:///absolute/path`, `sqlite:relative/path`."""

    def opened(url: str, **options: Any) -> SessionStore:
        parts = urlsplit(url)
        path = unquote(parts.path)
        if parts.netloc or not path or "\0" in path or parts.query or parts.fragment:
            raise ConfigurationError(
                f"the URL of a path is like {parts.scheme}:///absolute/path or "
                f"{parts.scheme}:relative/path; got {url!r:.100}"
            )
        return kind(path, **options)

    return opened


_KINDS: Final[Mapping[str, Callable[..., SessionStore]]] = {
    "memory": lambda url, **options: MemoryStore(**options),
    "file": _at(FileStore),
    "sqlite": _at(SQLiteStore),
    "postgres": PostgresStore,
    "postgresql": PostgresStore,
    "redis": RedisStore,
    "rediss": RedisStore,
    "unix": RedisStore,
}


def open_store(url: str, **options: Any) -> SessionStore:
    """Open a store of sessions.

    Args:
        url: `memory:`, `file:///directory`, `sqlite:///file`, `postgresql://…` or `redis://…`.
        options: Keyword arguments of the store's class, such as `max_bytes`.

    Raises:
        ConfigurationError: The URL has another scheme or form.
    """
    expect(url, str, "open_store takes a URL")
    scheme = url.partition(":")[0]
    if scheme not in _KINDS:
        known = ", ".join(f"{one}:" for one in sorted(_KINDS))
        raise ConfigurationError(
            f"no store of sessions has the scheme {scheme!r:.30}; a URL begins with {known}"
        )
    try:
        urlsplit(url)
    except ValueError as error:  # not with the URL, which may hold a password
        raise ConfigurationError(f"the {scheme}: URL of a store is malformed: {error}") from error
    return _KINDS[scheme](url, **options)
