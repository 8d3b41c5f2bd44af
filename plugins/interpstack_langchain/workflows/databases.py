"""Stores of workflows on databases, opened by URL."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from interpstack import ConfigurationError
from interpstack_langchain.workflows.checkpoint_store import CheckpointWorkflowStore
from interpstack_workflows.api import WorkflowError

__all__ = ["open_postgres", "open_sqlite"]

_T = TypeVar("_T")

#: Seconds to wait for another process that writes.
_BUSY_SECONDS: Final = 30.0


class _OpenedStore(CheckpointWorkflowStore):
    """A store with a connection of its own, and a thread of its own for the connection.

    The checkpointer lets one thread at a time use its connection: others would merely wait.
    """

    def __init__(self, saver: Any, close: Callable[[], None]) -> None:
        super().__init__(saver)
        self._close = close
        self._thread: Executor | None = ThreadPoolExecutor(1, "interpstack-workflows")

    async def aclose(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:  # closing twice is allowed
            await asyncio.get_running_loop().run_in_executor(thread, self._close)
            thread.shutdown(wait=False)

    async def _blocking(self, function: Callable[[], _T]) -> _T:
        if self._thread is None:
            raise WorkflowError("the store was closed; open it again")
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)


def open_sqlite(url: str) -> CheckpointWorkflowStore:
    """A store in a database of SQLite, which is made if there is none.

    Args:
        url: A path, or a URL: with three slashes a relative path, with four an absolute one.

    Raises:
        ConfigurationError: The database cannot be opened, or a package is missing.
    """
    path = Path(unquote(url.removeprefix("sqlite:///")) if url.startswith("sqlite:") else url)
    saver = _saver("langgraph.checkpoint.sqlite", "SqliteSaver", "langgraph-checkpoint-sqlite")
    try:
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
    except sqlite3.Error as error:
        raise _unopened(url, error) from error
    try:
        made = saver(connection)
        made.setup()
        # A write survives the process; only a failing machine may lose the last ones.
        connection.execute("PRAGMA synchronous=NORMAL")
    except sqlite3.Error as error:
        connection.close()
        raise _unopened(url, error) from error
    return _OpenedStore(made, connection.close)


def open_postgres(url: str) -> CheckpointWorkflowStore:
    """A store in a database of PostgreSQL, whose tables are made if there are none.

    Args:
        url: As PostgreSQL writes it, `postgresql://user@host/database`.

    Raises:
        ConfigurationError: The database cannot be opened, or a package is missing.
    """
    package = "langgraph-checkpoint-postgres 'psycopg[binary]'"
    saver = _saver("langgraph.checkpoint.postgres", "PostgresSaver", package)
    import psycopg
    from psycopg.rows import dict_row

    try:
        connection = psycopg.connect(
            url, autocommit=True, prepare_threshold=0, row_factory=dict_row
        )
    except psycopg.Error as error:
        raise _unopened(url.partition("?")[0].rpartition("@")[2], error) from error
    try:
        made = saver(connection)
        made.setup()
    except psycopg.Error as error:
        connection.close()
        raise _unopened(url.partition("?")[0].rpartition("@")[2], error) from error
    return _OpenedStore(made, connection.close)


def _saver(module: str, name: str, package: str) -> Callable[..., Any]:
    try:
        found: Callable[..., Any] = getattr(import_module(module), name)
    except ImportError as error:
        raise ConfigurationError(
            f"this store needs a package that is not installed ({error}); "
            f"run: pip install {package}"
        ) from error
    return found


def _unopened(shown: str, error: Exception) -> ConfigurationError:
    why = str(error).strip().partition("\n")[0]
    return ConfigurationError(f"the store {shown!r} cannot be opened: {why}")
