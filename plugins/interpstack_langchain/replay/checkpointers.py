"""Opens a checkpointer's database to be read, never written."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals.saver_classes import saver_class
from interpstack_state import path_of_url

__all__ = [
    "ACCEPTED",
    "NoCheckpoints",
    "Saver",
    "existing_file",
    "is_at_rest",
    "is_postgres",
    "open_checkpointer",
    "shown_url",
    "sqlite_path",
]

Saver = BaseCheckpointSaver[Any]

#: What `--checkpointer` takes.
ACCEPTED: Final = "a path, sqlite:///relative.db, sqlite:////absolute.db or postgresql://…"

#: Seconds until a server that does not answer is given up, unless the URL says so.
_CONNECT_SECONDS: Final = 10
#: Files beside one of SQLite with a log while a process has it open.
_BESIDE: Final = ("-wal", "-shm")
#: The byte of such a file that says so, and its value.
_MODE_AT: Final = 18
_LOGGED: Final = b"\x02"


class NoCheckpoints(ConfigurationError):
    """The database has no tables of a checkpointer."""


@contextmanager
def open_checkpointer(
    url: str,
    serde: SerializerProtocol | None = None,
    *,
    option: str = "--checkpointer",
    unchanging: bool = False,
) -> Iterator[Saver]:
    """The checkpointer on a database.

    Args:
        url: A path, or a URL; with three slashes SQLite's is relative, with four absolute.
        serde: The serializer of stored values; `None` for the checkpointer's default.
        option: The option or argument that named the database, for messages.
        unchanging: Whether no process writes to a file of SQLite meanwhile, as after
            `is_at_rest`. No files are made beside it then.

    Raises:
        ConfigurationError: The database cannot be opened or read, or a package is missing.
    """
    if is_postgres(url, option):
        opened = _postgres(url, serde, option)
    else:
        opened = _sqlite(url, serde, option, unchanging=unchanging)
    with opened as saver:
        yield saver


def is_postgres(url: str, option: str) -> bool:
    """Whether a URL or a path names a database of PostgreSQL; else it is one of SQLite.

    Raises:
        ConfigurationError: The URL is of another kind.
    """
    scheme, colon, _ = url.partition("://")
    if colon and scheme not in ("sqlite", "postgresql", "postgres"):
        raise ConfigurationError(
            f"{option} {url!r}: {scheme}:// is not a supported kind of database; "
            f"it takes {ACCEPTED}"
        )
    return bool(colon) and scheme.startswith("postgres")


def sqlite_path(url: str) -> Path:
    """The file that a path or a URL names."""
    return path_of_url(url).absolute()


def existing_file(url: str, option: str) -> Path:
    """The file that a path or a URL names.

    Raises:
        ConfigurationError: There is no such file.
    """
    path = sqlite_path(url)
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a name with NUL is of no file
        kind = 0
    except OSError as error:
        reason = error.strerror or error
        raise ConfigurationError(f"{option} {url!r:.200} cannot be read: {reason}") from error
    if kind == stat.S_IFDIR:
        raise ConfigurationError(
            f"{option} {url!r}: {path} is a directory; name the database file in it"
        )
    if kind != stat.S_IFREG:
        raise ConfigurationError(f"{option} {url!r}: file '{path}' not found. It takes {ACCEPTED}")
    return path


def is_at_rest(url: str, option: str) -> bool:
    """Whether a URL or a path names a file of SQLite beside which a reader would make others.

    That is so in the mode in which a log stands beside the file while a process has it open, and
    none has.

    Raises:
        ConfigurationError: The URL is of another kind of database.
    """
    if is_postgres(url, option):
        return False
    path = sqlite_path(url)
    if not path.is_file() or any(path.with_name(path.name + end).exists() for end in _BESIDE):
        return False
    with path.open("rb") as file:
        return file.read(_MODE_AT + 1)[_MODE_AT:] == _LOGGED


@contextmanager
def _sqlite(
    url: str, serde: SerializerProtocol | None, option: str, *, unchanging: bool
) -> Iterator[Saver]:
    path = existing_file(url, option)
    make = saver_class("sqlite", option)
    place = f"{path.as_uri()}?mode=ro{'&immutable=1' if unchanging else ''}"
    try:
        opened = sqlite3.connect(place, uri=True, check_same_thread=False)
        with closing(opened) as connection:
            tables = "SELECT name FROM sqlite_master WHERE name IN ('checkpoints', 'writes')"
            if len(connection.execute(tables).fetchall()) < 2:
                raise NoCheckpoints(
                    f"{option} {url!r}: the database has no checkpoints; name the database "
                    "of the agent's SqliteSaver or AsyncSqliteSaver"
                )
            yield _read_only(make)(connection, serde=serde)
    # SQLite's own messages may quote damaged names, which are not text then.
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _unreadable(option, url, error) from error


@contextmanager
def _postgres(url: str, serde: SerializerProtocol | None, option: str) -> Iterator[Saver]:
    make = saver_class("postgres", option)
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.rows import dict_row

    try:
        timeout = conninfo_to_dict(url).get("connect_timeout") or _CONNECT_SECONDS
        with psycopg.connect(
            url,
            autocommit=True,
            client_encoding="UTF8",  # text of a database in SQL_ASCII would else come as bytes
            prepare_threshold=0,
            row_factory=dict_row,
            connect_timeout=int(timeout),
        ) as connection:
            connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
            yield make(connection, serde=serde)
    except psycopg.errors.UndefinedTable as error:
        raise NoCheckpoints(
            f"{option} {shown_url(url)!r}: the database has no checkpoints; name the database "
            "of the agent's PostgresSaver or AsyncPostgresSaver"
        ) from error
    except psycopg.Error as error:
        raise _unreadable(option, shown_url(url), error) from error


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


def _unreadable(option: str, url: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(f"{option} {url!r} cannot be read: {error}; it takes {ACCEPTED}")


def shown_url(url: str) -> str:
    """A URL without its possibly secret parts."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://…@{rest.rpartition('@')[2]}" if "@" in rest else url.partition("?")[0]
