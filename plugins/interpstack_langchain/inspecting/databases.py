"""Databases of checkpointers as sources: opened for each look, to be read and never written."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs
from langgraph.checkpoint.base import BaseCheckpointSaver

from interpstack import ConfigurationError
from interpstack_inspect.api import Question, SourceRequest
from interpstack_langchain.inspecting.checkpointer_source import CheckpointerSource
from interpstack_langchain.inspecting.conversations import ReadingOptions
from interpstack_langchain.inspecting.workflow_runs import (
    read_run,
    read_run_questions,
    read_runs,
)
from interpstack_langchain.replay.checkpointers import (
    existing_file,
    is_at_rest,
    is_postgres,
    open_checkpointer,
    shown_url,
)
from interpstack_langchain.workflows.databases import open_postgres, open_sqlite
from interpstack_workflows.api import RunTree, WorkflowRecord, WorkflowStore

__all__ = ["DatabaseSource"]

_T = TypeVar("_T")

#: Looks at a database at once; more wait.
_LOOKS: Final = 4
#: The command that named the database, for messages.
_OPTION: Final = "inspect"


@attrs.define(eq=False, repr=False)
class DatabaseSource(CheckpointerSource):
    """The conversations in a database.

    Each look opens the database anew, so one that grows, is locked for a while or is restarted is
    read as it is by then.

    Args:
        url: A path, or a URL.
        options: The settings with which it is read.
    """

    url: str
    options: ReadingOptions
    _looks: asyncio.Semaphore = attrs.field(
        factory=lambda: asyncio.Semaphore(_LOOKS), init=False, repr=False
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
        except ConfigurationError as error:
            # A database that is locked now can be read later.
            if not isinstance(error.__cause__, sqlite3.OperationalError):
                raise

    @property
    def title(self) -> str:
        return shown_url(self.url) if "://" in self.url else Path(self.url).name

    async def workflows(self, limit: int = 100) -> Sequence[WorkflowRecord]:
        return await self._look(lambda saver: asyncio.run(read_runs(saver, limit)))

    async def workflow(self, run_id: str) -> tuple[WorkflowRecord, RunTree]:
        return await self._look(lambda saver: asyncio.run(read_run(saver, run_id)))

    async def run_questions(self, run_id: str) -> Sequence[Question]:
        return await self._look(lambda saver: asyncio.run(read_run_questions(saver, run_id)))

    @asynccontextmanager
    async def _run_store(self) -> AsyncIterator[WorkflowStore]:
        """The store of the database, opened to be written: only an answer does so."""
        make = open_postgres if is_postgres(self.url, _OPTION) else open_sqlite
        store = await asyncio.to_thread(make, self.url, create=False, serde=self.options.serde)
        try:
            yield store
        finally:
            await store.aclose()

    async def _look(self, read: Callable[[BaseCheckpointSaver[Any]], _T]) -> _T:
        async with self._looks:
            return await asyncio.to_thread(self._read, read)

    def _read(self, read: Callable[[BaseCheckpointSaver[Any]], _T]) -> _T:
        """Read the database; a writer that comes meanwhile has it read once more, as others do."""
        at_rest = is_at_rest(self.url, _OPTION)
        try:
            found = self._read_once(read, unchanging=at_rest)
        except ConfigurationError:
            if not at_rest or is_at_rest(self.url, _OPTION):
                raise
        else:
            if not at_rest or is_at_rest(self.url, _OPTION):
                return found
        return self._read_once(read, unchanging=False)

    def _read_once(self, read: Callable[[BaseCheckpointSaver[Any]], _T], *, unchanging: bool) -> _T:
        with open_checkpointer(
            self.url, self.options.serde, option=_OPTION, unchanging=unchanging
        ) as saver:
            self.options.check(saver)
            return read(saver)
