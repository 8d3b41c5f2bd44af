"""Databases of checkpointers as sources: opened for each reading, and never written."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs
from langgraph.checkpoint.base import BaseCheckpointSaver

from interpstack import ConfigurationError, call_blocking
from interpstack_inspect.api import ConversationRow, SourceRequest
from interpstack_langchain.inspecting.checkpointer_source import CheckpointerSource
from interpstack_langchain.inspecting.conversations import ReadingOptions
from interpstack_langchain.inspecting.workflow_runs import opened_runs
from interpstack_langchain.replay.checkpointers import (
    NoCheckpoints,
    existing_file,
    is_at_rest,
    is_postgres,
    open_checkpointer,
    shown_url,
    sqlite_path,
)
from interpstack_state import PostgresStore, SQLiteStore, SqlStore
from interpstack_workflows.api import SPACE, WorkflowError, WorkflowStore

__all__ = ["DatabaseSource"]

_T = TypeVar("_T")

#: Concurrent readers of a database; more wait.
_READERS: Final = 4
#: The command that named the database, for messages.
_OPTION: Final = "inspect"


@attrs.define(eq=False, repr=False)
class DatabaseSource(CheckpointerSource):
    """The conversations in a database.

    Each reading opens the database anew, so it finds a database that has grown, was locked for a
    while or was restarted as it is by then.

    Args:
        url: A path, or a URL.
        options: The settings with which it is read.
    """

    url: str
    options: ReadingOptions
    _readers: asyncio.Semaphore = attrs.field(
        factory=lambda: asyncio.Semaphore(_READERS), init=False, repr=False
    )

    @classmethod
    def of(cls, request: SourceRequest) -> DatabaseSource:
        """The database that was named on the command line.

        Raises:
            ConfigurationError: The name or an option is wrong, there is no such file, or the file
                is not a database of a checkpointer.
        """
        url, options = request.target, ReadingOptions.of(request)
        source = cls(url, options)
        if not is_postgres(url, _OPTION):
            source._check_file(existing_file(url, _OPTION))
        return source

    def _check_file(self, path: Path) -> None:
        """Refuse a file of another kind; an agent may be about to fill one that is empty."""
        if path.stat().st_size == 0:
            return
        try:
            self._read(lambda saver: None)
        except NoCheckpoints:
            if not self._states(unchanging=is_at_rest(self.url, _OPTION)).exists():
                raise
        except ConfigurationError as error:
            # A database that is locked now can be read later.
            if not isinstance(error.__cause__, sqlite3.OperationalError):
                raise

    @property
    def title(self) -> str:
        return shown_url(self.url) if "://" in self.url else Path(self.url).name

    async def conversations(
        self, *, containing: str = "", waiting: bool = False, limit: int = 100, skip: int = 0
    ) -> Sequence[ConversationRow]:
        try:
            return await super().conversations(
                containing=containing, waiting=waiting, limit=limit, skip=skip
            )
        except NoCheckpoints:
            if await call_blocking(self._states().exists):
                return []  # a database of workflows alone
            raise

    async def _read_runs(self, read: Callable[[WorkflowStore], Awaitable[_T]]) -> _T:
        async def opened(unchanging: bool) -> _T:
            async with opened_runs(self._states(unchanging=unchanging)) as store:
                return await read(store)

        async with self._readers:
            return await asyncio.to_thread(
                self._read_anew, lambda unchanging: asyncio.run(opened(unchanging))
            )

    @asynccontextmanager
    async def _written_runs(self) -> AsyncIterator[WorkflowStore]:
        async with opened_runs(self._states(read_only=False)) as store:
            yield store

    def _states(self, *, read_only: bool = True, unchanging: bool = False) -> SqlStore:
        if is_postgres(self.url, _OPTION):
            return PostgresStore(self.url, space=SPACE, connections=1)
        path = sqlite_path(self.url)
        return SQLiteStore(path, space=SPACE, read_only=read_only, unchanging=unchanging)

    async def _read_saver(self, read: Callable[[BaseCheckpointSaver[Any]], _T]) -> _T:
        async with self._readers:
            return await asyncio.to_thread(self._read, read)

    def _read(self, read: Callable[[BaseCheckpointSaver[Any]], _T]) -> _T:
        return self._read_anew(lambda unchanging: self._read_once(read, unchanging=unchanging))

    def _read_anew(self, read: Callable[[bool], _T]) -> _T:
        """Read the database; a writer that comes meanwhile has it read once more, as others do.

        Args:
            read: Opens the database and reads it; takes whether nobody else has it open.
        """
        at_rest = is_at_rest(self.url, _OPTION)
        try:
            found = read(at_rest)
        except (ConfigurationError, WorkflowError):
            if not at_rest or is_at_rest(self.url, _OPTION):
                raise
        else:
            if not at_rest or is_at_rest(self.url, _OPTION):
                return found
        return read(False)

    def _read_once(self, read: Callable[[BaseCheckpointSaver[Any]], _T], *, unchanging: bool) -> _T:
        with open_checkpointer(
            self.url, self.options.serde, option=_OPTION, unchanging=unchanging
        ) as saver:
            self.options.check(saver)
            return read(saver)
