"""Stores by URL."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_state import (
    BlobStore,
    FileStore,
    MemoryStore,
    PostgresStore,
    RedisStore,
    SQLiteStore,
    StateStore,
    open_store,
    path_of_url,
)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("memory:", MemoryStore),
        ("states.db", SQLiteStore),
        ("file:///var/lib/states", FileStore),
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
    assert isinstance(store, StateStore) == (kind not in (FileStore, RedisStore))


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///var/a%20b.db", "var/a b.db"),  # as in SQLAlchemy
        ("sqlite:////var/a%20b.db", "/var/a b.db"),
        ("sqlite:var/b.db", "var/b.db"),
        ("sqlite:/var/b.db", "/var/b.db"),
        ("var/b.db", "var/b.db"),
        ("/var/a%20b.db", "/var/a%20b.db"),
        ("./notes: new.db", "notes: new.db"),
        (r"C:\states.db", r"C:\states.db"),
    ],
)
def test_paths_are_relative_or_absolute(url: str, path: str) -> None:
    store = open_store(url)
    assert isinstance(store, SQLiteStore)
    assert store.path == Path(path) == path_of_url(url)


def test_folders_are_absolute_or_relative() -> None:
    absolute, relative = open_store("file:///var/a%20b"), open_store("file:var/b")
    assert isinstance(absolute, FileStore)
    assert isinstance(relative, FileStore)
    assert (absolute.path, relative.path) == (Path("/var/a b"), Path("var/b"))


@pytest.mark.parametrize("url", ["mysql://host", "://", "nope:"])
def test_other_schemes_are_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"a URL begins with file:, memory:, postgres:"):
        open_store(url)


@pytest.mark.parametrize("url", ["", None, 5, Path("states.db")])
def test_a_url_is_text(url: Any) -> None:
    with pytest.raises(ConfigurationError, match="a store is named by memory:, a path, sqlite:"):
        open_store(url)


@pytest.mark.parametrize(
    "url", ["sqlite:", "sqlite://", "sqlite:///", "sqlite://host/file", "sqlite:///a%00b"]
)
def test_paths_of_another_form_are_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is like sqlite:///relative.db or sqlite:////ab"):
        open_store(url)


@pytest.mark.parametrize("url", ["file:///dir?x=1", "file:x#y", "file:", "file://host/dir"])
def test_folders_of_another_form_are_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="the URL of a folder is like file:///absolute"):
        open_store(url)


def test_a_path_has_no_nul() -> None:
    with pytest.raises(ConfigurationError, match="a path has no NUL"):
        open_store("a\0b")


def test_a_url_that_cannot_be_read_is_refused_without_its_password() -> None:
    with pytest.raises(ConfigurationError, match="the redis: URL of a store") as refused:
        open_store("redis://user:secret@[::1")
    assert "secret" not in str(refused.value)


def test_a_file_that_is_missing_is_made_or_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/states.db"
    with pytest.raises(ConfigurationError, match=r"database sqlite:///.*states.db not found"):
        open_store(url, create=False)
    assert not list(tmp_path.iterdir())
    with open_store(url) as store:
        store.claim("a", "one", 9)
    with open_store(url, create=False) as store:
        assert [one.key for one in store.blobs()] == ["a"]


@pytest.mark.parametrize("kind", ["file", "sqlite", "postgres", "redis"])
def test_spaces_are_apart(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    urls = {
        "file": lambda: f"file:{tmp_path}/states",
        "sqlite": lambda: f"{tmp_path}/states.db",
        "postgres": lambda: _as_url(request.getfixturevalue("postgres").new_database()),
        "redis": lambda: request.getfixturevalue("redis_server").url,
    }
    url = urls[kind]()
    with open_store(url) as store, open_store(url, space="workflows") as other:
        store.claim("of a session", "one", 9)
        other.claim("of a workflow", "one", 9)
        with open_store(url, space="sessions") as same:
            listed = [{one.key for one in each.blobs()} for each in (store, other, same)]
        for each in (store, other):
            each.delete("of a session")
            each.delete("of a workflow")
    mine = {"of a session", "of a workflow"}  # among those that other tests have left
    assert [keys & mine for keys in listed] == [{one} for one in (*sorted(mine), min(mine))]


class _Mine(MemoryStore):
    """A store of another distribution."""

    given: dict[str, Any]


def _open(url: str, *, create: bool, space: str | None, **options: Any) -> BlobStore:
    store = _Mine(**options)
    store.given = {"url": url, "create": create, "space": space}
    return store


def _no_store(url: str, **options: Any) -> str:
    return "a store"


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry points of some distributions."""
    found = [
        EntryPoint(name, value, "interpstack.state_stores")
        for name, value in {
            "mine": f"{__name__}:_open",
            "wrong": f"{__name__}:_no_store",
            "absent": "a_package_that_is_absent.stores:open",
            "sqlite": f"{__name__}:_no_store",
        }.items()
    ]
    monkeypatch.setattr(
        "interpstack_state.urls.entry_points",
        lambda *, group: found if group == "interpstack.state_stores" else [],
    )


@pytest.mark.usefixtures("points")
def test_a_distribution_adds_a_scheme() -> None:
    store = open_store("mine://host/place", create=False, space="workflows", max_bytes=77)
    assert isinstance(store, _Mine)
    assert store.given == {"url": "mine://host/place", "create": False, "space": "workflows"}
    assert store.max_bytes == 77


@pytest.mark.usefixtures("points")
def test_a_distribution_replaces_no_scheme() -> None:
    assert isinstance(open_store("sqlite:states.db"), SQLiteStore)


@pytest.mark.usefixtures("points")
def test_schemes_of_distributions_are_named() -> None:
    with pytest.raises(ConfigurationError, match=r"absent:, file:, memory:, mine:, .*, wrong:"):
        open_store("nope:")


@pytest.mark.usefixtures("points")
def test_a_distribution_that_lacks_a_package_says_which() -> None:
    with pytest.raises(ConfigurationError, match="'absent' need a_package_that_is_absent, which"):
        open_store("absent:")


@pytest.mark.usefixtures("points")
def test_what_a_distribution_returns_is_a_store() -> None:
    with pytest.raises(ConfigurationError, match="returned 'a store', which is not a BlobStore"):
        open_store("wrong:")


def _as_url(dsn: str) -> str:
    parts = dict(part.split("=", 1) for part in dsn.split())
    return f"postgresql:///{parts['dbname']}?host={parts['host']}&user={parts['user']}"
