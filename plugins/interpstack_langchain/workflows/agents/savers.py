"""Checkpointers of agents: a graph's own one, or one beside the store of the run."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.memory import InMemorySaver

from interpstack import call_blocking, to_end
from interpstack_langchain.langgraph_internals.saver_classes import saver_class
from interpstack_state import MemoryStore, PostgresStore, SQLiteStore, StateStore, until_free
from interpstack_workflows.api import AgentCall, RunCompanion

__all__ = ["RUN", "AgentSaver", "AgentStates", "saver_for"]

_T = TypeVar("_T")
#: The name of the companion of stores, as its entry point has it.
_COMPANION: Final = "langchain"
#: The entry of a checkpoint's metadata that names the run.
RUN: Final = "workflow_run"
#: Seconds to wait for another process that makes the tables, or writes, and between two tries.
_BUSY_SECONDS: Final = 30.0
_PAUSE_SECONDS: Final = 0.02
#: The lock of those who make the tables of a PostgreSQL database: a number that no other has.
_SETTING_UP: Final = 7_320_583_017_224
_WHAT: Final = "the state of an agent without a checkpointer"


async def saver_for(own: Any, call: AgentCall) -> AgentSaver | None:
    """Return the checkpointer of one call of a graph.

    Args:
        own: The graph's own: a checkpointer, `None` for none, `False` for none in any case.
        call: Has the store of the run.

    Returns:
        The graph's own one, if it has one; else the one beside the store of the run, whose threads
        are deleted with the run. `None` if there is none beside a store of this kind.
    """
    if isinstance(own, BaseCheckpointSaver):
        return AgentSaver(own)
    if own is False or call.store is None or not call.run_id:
        return None
    states = await call.store.companions.get(_COMPANION)
    if not isinstance(states, AgentStates):
        return None
    return AgentSaver(states.saver, forgets=isinstance(states.saver, InMemorySaver))


class AgentStates(RunCompanion):
    """The conversations of agents without checkpointers, beside the store of their runs.

    They are in a checkpointer of LangGraph for the database of the store, in its own tables.

    Args:
        saver: The checkpointer, set up.
        close: Closes its connections.
    """

    def __init__(
        self, saver: BaseCheckpointSaver[Any], close: Callable[[], None] = lambda: None
    ) -> None:
        self.saver = saver
        self._close = close

    @classmethod
    def beside(cls, state: StateStore) -> AgentStates | None:
        """The conversations beside a store; `None` for a kind of store without a checkpointer.

        Raises:
            ConfigurationError: The checkpointer's package is not installed.
        """
        if isinstance(state, MemoryStore):
            return cls(InMemorySaver())
        if isinstance(state, SQLiteStore):
            return cls._in_sqlite(state)
        if isinstance(state, PostgresStore):
            return cls._in_postgres(state)
        return None

    @classmethod
    def _in_sqlite(cls, state: SQLiteStore) -> AgentStates:
        make = saver_class("sqlite", _WHAT)
        connection = sqlite3.connect(state.path, timeout=_BUSY_SECONDS, check_same_thread=False)
        try:
            saver = make(connection)
            until_free(saver.setup, _BUSY_SECONDS)
        except BaseException:
            connection.close()
            raise
        return cls(saver, connection.close)

    @classmethod
    def _in_postgres(cls, state: PostgresStore) -> AgentStates:
        make = saver_class("postgres", _WHAT)
        from psycopg.rows import dict_row
        from psycopg_pool import ConnectionPool

        pool: Any = ConnectionPool(
            state.dsn,
            kwargs={
                "autocommit": True,
                "client_encoding": "UTF8",  # as the store of the run has it
                "prepare_threshold": 0,
                "row_factory": dict_row,
            },
            min_size=1,
            max_size=state.connections,
            check=ConnectionPool.check_connection,  # a server that was restarted has closed them
            name="interpstack-agents",
            open=True,
        )
        try:
            saver = make(pool)
            with pool.connection() as connection, _setting_up(connection):
                saver.setup()
        except BaseException:
            pool.close()
            raise
        return cls(saver, pool.close)

    async def delete(self, run_id: str) -> None:
        await call_blocking(lambda: self._delete(run_id))

    def _delete(self, run_id: str) -> None:
        listed = [*self.saver.list(None, filter={RUN: run_id})]
        for thread in {one.config["configurable"]["thread_id"] for one in listed}:
            self.saver.delete_thread(thread)

    async def aclose(self) -> None:
        await call_blocking(self._close)


@contextmanager
def _setting_up(connection: Any) -> Iterator[None]:
    """Let one process at a time make the tables: two at once would conflict.

    Polls for the lock, since a statement that waits for it would delay the other process, which
    makes an index while other statements run.

    Raises:
        TimeoutError: Another process has not finished in time.
    """
    until = time.monotonic() + _BUSY_SECONDS
    ask = f"SELECT pg_try_advisory_lock({_SETTING_UP}) AS mine"
    while not connection.execute(ask).fetchone()["mine"]:
        if time.monotonic() > until:
            raise TimeoutError("another process is making its tables")
        time.sleep(_PAUSE_SECONDS)
    try:
        yield
    finally:
        connection.execute(f"SELECT pg_advisory_unlock({_SETTING_UP})")


class _Uses:
    """Counts the threads that use a checkpointer in one call of an agent."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0
        self._ended = False

    @contextmanager
    def one(self) -> Iterator[None]:
        """One use.

        Raises:
            RuntimeError: The call has ended.
        """
        with self._changed:
            if self._ended:
                raise RuntimeError("the call of the agent has ended")
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def end(self) -> None:
        """Let no use begin any more, and wait for those that have."""
        with self._changed:
            self._ended = True
            self._changed.wait_for(lambda: not self._count)


class AgentSaver(BaseCheckpointSaver[Any]):
    """A checkpointer for async graphs over any other, sync or async.

    Args:
        saver: The other one.
        uses: Counts the threads that use it.
        forgets: Whether the state of an agent that has ended is of no more use.
    """

    def __init__(
        self,
        saver: BaseCheckpointSaver[Any],
        uses: _Uses | None = None,
        *,
        forgets: bool = False,
    ) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._forgets = forgets
        self._is_async = type(saver).aput_writes is not BaseCheckpointSaver.aput_writes
        self._uses = uses or _Uses()

    async def end(self) -> None:
        """Wait until no thread uses the other checkpointer, and let none begin.

        A cancelled graph leaves threads at work. Code that has stopped its agents may close the
        database, and a database of SQLite must be idle then.
        """
        await to_end(call_blocking(self._uses.end))

    def forget(self, thread: str) -> None:
        """Delete the state of an agent that has ended, if it is of no more use."""
        if self._forgets:
            self._saver.delete_thread(thread)

    def __getattr__(self, name: str) -> Any:
        """Return the connection and the lock, by which evals of the agent find their database."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._saver, name)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with self._uses.one():
            return self._saver.get_tuple(config)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        if self._is_async:
            return await self._saver.aget_tuple(config)
        return await self._aside(lambda: self._saver.get_tuple(config))

    def list(self, config: RunnableConfig | None, **given: Any) -> Iterator[CheckpointTuple]:
        with self._uses.one():
            listed = [*self._saver.list(config, **given)]
        yield from listed

    async def alist(
        self, config: RunnableConfig | None, **given: Any
    ) -> AsyncIterator[CheckpointTuple]:
        if self._is_async:
            async for found in self._saver.alist(config, **given):
                yield found
            return
        for found in await self._aside(lambda: [*self._saver.list(config, **given)]):
            yield found

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        with self._uses.one():
            return self._saver.put(config, checkpoint, metadata, new_versions)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        saver = self._saver
        if self._is_async:
            return await saver.aput(config, checkpoint, metadata, new_versions)
        return await self._aside(lambda: saver.put(config, checkpoint, metadata, new_versions))

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        with self._uses.one():
            self._saver.put_writes(config, writes, task_id, task_path)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        saver = self._saver
        if self._is_async:
            await saver.aput_writes(config, writes, task_id, task_path)
        else:
            await self._aside(lambda: saver.put_writes(config, writes, task_id, task_path))

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self._saver.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> AgentSaver:
        other = self._saver.with_allowlist(extra_allowlist)
        return AgentSaver(other, self._uses, forgets=self._forgets)

    async def _aside(self, work: Callable[[], _T]) -> _T:
        """Do work in a thread."""

        def counted() -> _T:
            with self._uses.one():
                return work()

        return await call_blocking(counted)
