"""Stores that own their connections: the thread of each, and short writes without a thread."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from interpstack_langchain.langgraph_internals.sqlite_writes import SqliteWrites
from interpstack_langchain.workflows.batches import Batches
from interpstack_langchain.workflows.checkpoint_store import CheckpointWorkflowStore
from interpstack_langchain.workflows.checkpoints import thread_of
from interpstack_workflows.api import WorkflowError

__all__ = ["OpenedPostgresStore", "OpenedStore", "SqliteStore"]

_T = TypeVar("_T")

#: Characters of a write that may be stored at once.
_SHORT_CHARS: Final = 16_384
#: Every so many writes, one is the thread's: its commit also moves the log to the database.
_WRITES_PER_THREAD: Final = 256
#: Seconds in which a server is back that is restarted, and between two tries to reach it.
_RESTART_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 0.1


class OpenedStore(CheckpointWorkflowStore):
    """A store with a connection of its own, and a thread of its own for the connection.

    A checkpointer lets one thread at a time use its connection: others would merely wait.

    Args:
        saver: The checkpointer, set up.
        close: Closes its connection.
    """

    def __init__(self, saver: Any, close: Callable[[], None]) -> None:
        super().__init__(saver)
        self._close = close
        self._thread: Executor | None = ThreadPoolExecutor(1, "interpstack-workflows")
        self._batches = Batches(self._thread)

    async def aclose(self) -> None:
        """Close the connection; closing twice is allowed."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.get_running_loop().run_in_executor(thread, self._close)
            thread.shutdown(wait=False)

    async def _blocking(self, function: Callable[[], _T]) -> _T:
        if self._thread is None:
            raise WorkflowError("the store was closed; open it again")
        return await self._batches.run(function)


class OpenedPostgresStore(OpenedStore):
    """A store in PostgreSQL, which connects again where its server was restarted.

    What was under way then is done again: nothing comes of a second write of the same record.

    Args:
        saver: The checkpointer, set up.
        connect: Makes a connection as the checkpointer has it.
    """

    def __init__(self, saver: Any, connect: Callable[[], Any]) -> None:
        super().__init__(saver, lambda: saver.conn.close())
        self._connect = connect

    async def _call(self, function: Callable[[], _T]) -> _T:
        return await super()._call(lambda: self._lasting(function))

    def _lasting(self, function: Callable[[], _T]) -> _T:
        saver: Any = self._saver
        until = time.monotonic() + _RESTART_SECONDS
        while True:
            try:
                if saver.conn.closed:
                    saver.conn = self._connect()
                return function()
            except Exception:
                if not saver.conn.closed or time.monotonic() > until:
                    raise
            time.sleep(_PAUSE_SECONDS)


class SqliteStore(OpenedStore):
    """A store in SQLite that writes a short record at once, if no other process writes.

    Such a write adds some pages to the log of the database, which takes less time than to hand it
    to a thread. It does not wait: neither for another writer, since its connection gives up at
    once, nor for the disk, since it leaves the log where it is. Then, and for longer records, the
    thread writes.

    Args:
        saver: The checkpointer, set up, whose connection may wait.
        at_once: Writes through another connection, which neither waits nor moves the log.
        close: Closes both connections.
    """

    def __init__(self, saver: Any, at_once: SqliteWrites, close: Callable[[], None]) -> None:
        super().__init__(saver, close)
        self._at_once = at_once
        self._written = 0

    def _write_now(
        self, run_id: str, namespace: str, writes: Sequence[tuple[str, Any]], task: str
    ) -> bool:
        self._written += 1
        is_due = self._written % _WRITES_PER_THREAD == 0
        if self._thread is None or is_due or not _is_short(writes):
            return False
        try:
            return self._at_once.add((thread_of(run_id), namespace, namespace), task, writes)
        except sqlite3.OperationalError:
            return False  # another connection writes; what else it may be, the thread will raise


def _is_short(writes: Sequence[tuple[str, Any]]) -> bool:
    return sum(len(text) for _, text in writes) <= _SHORT_CHARS
