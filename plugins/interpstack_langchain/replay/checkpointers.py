"""Opens a checkpointer's database to be read, never written."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from interpstack import ConfigurationError

__all__ = ["ACCEPTED", "open_checkpointer"]

Saver = BaseCheckpointSaver[Any]

#: What `--checkpointer` takes.
ACCEPTED: Final = "a path, sqlite:///relative.db, sqlite:////absolute.db or postgresql://…"


@contextmanager
def open_checkpointer(url: str, serde: SerializerProtocol | None = None) -> Iterator[Saver]:
    """The checkpointer on a database.

    Args:
        url: A path, or a URL; with three slashes SQLite's is relative, with four absolute.
        serde: The serializer of stored values; `None` for the checkpointer's default.

    Raises:
        ConfigurationError: The database cannot be opened or read, or a package is missing.
    """
    scheme, colon, _ = url.partition("://")
    if colon and scheme not in ("sqlite", "postgresql", "postgres"):
        raise ConfigurationError(
            f"--checkpointer {url!r}: {scheme}:// is not a supported kind of database; "
            f"it takes {ACCEPTED}"
        )
    open_one = _postgres if scheme.startswith("postgres") and colon else _sqlite
    with open_one(url, serde) as saver:
        yield saver


@contextmanager
def _sqlite(url: str, serde: SerializerProtocol | None) -> Iterator[Saver]:
    path = Path(unquote(url.removeprefix("sqlite:///")) if "://" in url else url).absolute()
    if path.is_dir():
        raise ConfigurationError(
            f"--checkpointer {url!r}: {path} is a directory; name the database file in it"
        )
    if not path.is_file():
        raise ConfigurationError(
            f"--checkpointer {url!r}: there is no file {path}; it takes {ACCEPTED}"
        )
    make = _saver("langgraph.checkpoint.sqlite", "SqliteSaver", "langgraph-checkpoint-sqlite")
    try:
        opened = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        with closing(opened) as connection:
            tables = "SELECT name FROM sqlite_master WHERE name IN ('checkpoints', 'writes')"
            if len(connection.execute(tables).fetchall()) < 2:
                raise ConfigurationError(
                    f"--checkpointer {url!r}: the database has no checkpoints; name the database "
                    "of the agent's SqliteSaver or AsyncSqliteSaver"
                )
            yield _read_only(make)(connection, serde=serde)
    except sqlite3.Error as error:
        raise _unreadable(url, error) from error


@contextmanager
def _postgres(url: str, serde: SerializerProtocol | None) -> Iterator[Saver]:
    package = "langgraph-checkpoint-postgres 'psycopg[binary]'"
    make = _saver("langgraph.checkpoint.postgres", "PostgresSaver", package)
    import psycopg
    from psycopg.rows import dict_row

    try:
        with psycopg.connect(
            url, autocommit=True, prepare_threshold=0, row_factory=dict_row
        ) as connection:
            connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
            yield make(connection, serde=serde)
    except psycopg.errors.UndefinedTable as error:
        raise ConfigurationError(
            f"--checkpointer {_shown(url)!r}: the database has no checkpoints; name the database "
            "of the agent's PostgresSaver or AsyncPostgresSaver"
        ) from error
    except psycopg.Error as error:
        raise _unreadable(_shown(url), error) from error


def _saver(module: str, name: str, package: str) -> Callable[..., Saver]:
    try:
        found: Callable[..., Saver] = getattr(import_module(module), name)
    except ImportError as error:
        raise ConfigurationError(
            f"--checkpointer needs a package that is not installed ({error}); "
            f"run: pip install {package}"
        ) from error
    return found


def _read_only(saver: Callable[..., Saver]) -> Callable[..., Saver]:
    """The class of a SQLite checkpointer, for a database that cannot be written.

    Its set-up changes the journal mode of the database, for example of a copy that `VACUUM INTO`
    made. The tables are there already, so a set-up that is refused is not needed.
    """

    def setup(self: Any) -> None:
        try:
            saver.setup(self)  # type: ignore[attr-defined]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:  # extended codes have more
                raise

    made: Callable[..., Saver] = type("ReadOnlySaver", (saver,), {"setup": setup})  # type: ignore[arg-type]
    return made


def _unreadable(url: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"--checkpointer {url!r} cannot be read: {error}; it takes {ACCEPTED}"
    )


def _shown(url: str) -> str:
    """A URL without its possibly secret parts."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://…@{rest.rpartition('@')[2]}" if "@" in rest else url.partition("?")[0]
