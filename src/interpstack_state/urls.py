"""Stores by URL, for configuration files and environment variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from interpstack import ConfigurationError
from interpstack.checks import shown
from interpstack_state.contract import BlobStore
from interpstack_state.errors import DatabaseMissing
from interpstack_state.files import FileStore
from interpstack_state.memory import MemoryStore
from interpstack_state.postgres import PostgresStore
from interpstack_state.redis import RedisStore
from interpstack_state.sqlite import SQLiteStore

__all__ = ["STORE_URLS", "open_store", "path_of_url"]

#: Distributions add kinds of stores in this group: a URL's scheme, and a function for it.
_GROUP: Final = "interpstack.state_stores"
#: What names a store with logs and inboxes, for messages.
STORE_URLS: Final = "memory:, a path, sqlite:///relative.db, sqlite:////absolute.db, postgresql://…"


def path_of_url(url: str) -> Path:
    """The path in `sqlite:///relative`, `sqlite:////absolute`, `sqlite:relative`, or a path itself.

    Raises:
        ConfigurationError: The URL has another form.
    """
    if not url.startswith("sqlite:"):
        if "\0" in url:
            raise ConfigurationError(f"a path has no NUL; got {url!r:.100}")
        return Path(url)
    rest = url.removeprefix("sqlite:")
    path = unquote(rest.removeprefix("///") if rest.startswith("//") else rest)
    named = not rest.startswith("//") or rest.startswith("///")
    if not named or not path or "\0" in path or "?" in rest or "#" in rest:
        raise ConfigurationError(
            f"the URL of a file of SQLite is like sqlite:///relative.db or sqlite:////absolute.db; "
            f"got {url!r:.100}"
        )
    return Path(path)


def _memory(url: str, create: bool, space: str | None, **options: Any) -> BlobStore:
    return MemoryStore(**options)  # each is a space of its own


def _sqlite(url: str, create: bool, space: str | None, **options: Any) -> BlobStore:
    path = path_of_url(url)
    if not create and not path.exists():
        raise DatabaseMissing(f"database {url} not found")
    return SQLiteStore(path, **_spaced(space, options))


def _files(url: str, create: bool, space: str | None, **options: Any) -> BlobStore:
    """`file:///absolute/path`, `file:relative/path`."""
    parts = urlsplit(url)
    path = unquote(parts.path)
    if parts.netloc or not path or "\0" in path or parts.query or parts.fragment:
        raise ConfigurationError(
            "the URL of a folder is like file:///absolute/path or file:relative/path; got "
            f"{url!r:.100}"
        )
    return FileStore(Path(path) / space if space else path, **options)


def _postgres(url: str, create: bool, space: str | None, **options: Any) -> BlobStore:
    return PostgresStore(url, **_spaced(space, options))


def _redis(url: str, create: bool, space: str | None, **options: Any) -> BlobStore:
    prefix = {"prefix": f"interpstack:{space}:"} if space else {}
    return RedisStore(url, **{**prefix, **options})


def _spaced(space: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    return {**options} if space is None else {**options, "space": space}


_KINDS: Final[Mapping[str, Callable[..., BlobStore]]] = {
    "memory": _memory,
    "file": _files,
    "sqlite": _sqlite,
    "postgres": _postgres,
    "postgresql": _postgres,
    "redis": _redis,
    "rediss": _redis,
    "unix": _redis,
}


def open_store(
    url: str, *, create: bool = True, space: str | None = None, **options: Any
) -> BlobStore:
    """Open a store of states; the caller closes it.

    Args:
        url: `memory:`, a path to a database of SQLite, `sqlite:///relative.db`,
            `sqlite:////absolute.db`, `file:///folder`, `postgresql://…`, `redis://…`, or a URL of a
            kind that an installed distribution knows.
        create: Whether to make a database file that does not exist; otherwise it is refused. A
            database on a server must exist.
        space: Keeps states of several kinds in one place apart; `None` is that of sessions, as
            "sessions" is. In memory, each store is apart from all others.
        options: Keyword arguments of the store's class, such as `max_bytes`.

    Raises:
        DatabaseMissing: There is no such file, and it is not to be made.
        ConfigurationError: The URL has another scheme or form.
    """
    if not isinstance(url, str) or not url:
        raise ConfigurationError(f"a store is named by {STORE_URLS}; got {url!r:.80}")
    scheme = _scheme(url)
    kind = _KINDS.get(scheme)
    if kind is None:
        points = {point.name: point for point in entry_points(group=_GROUP)}
        if scheme not in points:
            known = ", ".join(f"{one}:" for one in sorted({*_KINDS, *points}))
            raise ConfigurationError(
                f"no store of states has the scheme {scheme!r:.30}; a URL begins with {known}, or "
                "is the path to a file of SQLite"
            )
        kind = _loaded(points[scheme])
    try:
        urlsplit(url)
    except ValueError as error:  # not with the URL, which may hold a password
        raise ConfigurationError(f"the {scheme}: URL of a store is malformed: {error}") from error
    store = kind(url, create=create, space=None if space == "sessions" else space, **options)
    if not isinstance(store, BlobStore):
        raise ConfigurationError(
            f"the package that opens stores of {scheme!r} returned {shown(store)}, which is not a "
            "BlobStore"
        )
    return store


def _scheme(url: str) -> str:
    """The scheme of a URL; that of SQLite for a path, on Windows with a drive."""
    scheme, colon, _ = url.partition(":")
    return scheme if colon and len(scheme) != 1 and "/" not in scheme else "sqlite"


def _loaded(point: EntryPoint) -> Callable[..., BlobStore]:
    try:
        function: Callable[..., BlobStore] = point.load()
    except ImportError as error:
        raise ConfigurationError(
            f"stores of {point.name!r} need {error.name or error}, which is not installed"
        ) from error
    return function
