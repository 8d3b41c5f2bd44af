"""Checkpointers of agents: a graph's own one, or the one in which the run itself is stored."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

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
from interpstack_langchain.workflows.checkpoint_store import CheckpointWorkflowStore
from interpstack_workflows.api import AgentCall, MemoryWorkflowStore, WorkflowStore

__all__ = ["AgentSaver", "forget", "saver_for"]

_T = TypeVar("_T")
#: Begins the namespaces of agents in the thread of their run.
_SPACE: Final = "workflow_agent:"
#: For runs in memory, agents' states in memory: they last as long as the runs do.
_in_memory: WeakKeyDictionary[WorkflowStore, InMemorySaver] = WeakKeyDictionary()


def saver_for(own: Any, call: AgentCall, thread: str) -> BaseCheckpointSaver[Any] | None:
    """The checkpointer of one call of a graph.

    Args:
        own: The graph's own: a checkpointer, `None` for none, `False` for none in any case.
        call: Has the store of the run.
        thread: The thread of the call.

    Returns:
        The graph's own one, if it has one; else that of the run's store, if the store has one: the
        thread is then a part of the run, and is deleted with it.
    """
    if isinstance(own, BaseCheckpointSaver):
        return own if _is_async(own) else AgentSaver(own)
    run_id = call.key.partition("/")[0]
    if own is False or not run_id:
        return None
    if isinstance(call.store, CheckpointWorkflowStore):
        return AgentSaver(call.store.saver, call.store.thread(run_id), f"{_SPACE}{thread}:")
    if isinstance(call.store, MemoryWorkflowStore):
        return _in_memory.setdefault(call.store, InMemorySaver())
    return None


def forget(call: AgentCall, thread: str) -> None:
    """Delete the state of an agent that has ended, if the state is in memory beside its run."""
    saver = None if call.store is None else _in_memory.get(call.store)
    if saver is not None:
        saver.delete_thread(thread)


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
        thread: The thread there that keeps everything; `None` for the graph's own threads.
        space: Begins the namespaces there.
        uses: Counts the threads that use it.
    """

    def __init__(
        self,
        saver: BaseCheckpointSaver[Any],
        thread: str | None = None,
        space: str = "",
        uses: _Uses | None = None,
    ) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._thread = thread
        self._space = space
        self._is_async = _is_async(saver)
        self._uses = uses or _Uses()

    async def end(self) -> None:
        """Wait until no thread uses the other checkpointer, and let none begin.

        A cancelled graph leaves threads at work. Code that has stopped its agents may close the
        database, and a database of SQLite must be idle then.
        """
        await to_end(call_blocking(self._uses.end))

    def __getattr__(self, name: str) -> Any:
        """The connection and the lock, by which evals of the agent find their database."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._saver, name)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with self._uses.one():
            return self._outer(self._saver.get_tuple(self._inner(config)), config)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        inner = self._inner(config)
        if self._is_async:
            return self._outer(await self._saver.aget_tuple(inner), config)
        return self._outer(await self._aside(lambda: self._saver.get_tuple(inner)), config)

    def list(self, config: RunnableConfig | None, **given: Any) -> Iterator[CheckpointTuple]:
        wanted = self._wanted(config)
        with self._uses.one():
            listed = [*self._saver.list(self._inner(wanted), **self._limits(given))]
        for found in listed:
            yield self._known(found, wanted)

    async def alist(
        self, config: RunnableConfig | None, **given: Any
    ) -> AsyncIterator[CheckpointTuple]:
        wanted, limits = self._wanted(config), self._limits(given)
        if self._is_async:
            async for found in self._saver.alist(self._inner(wanted), **limits):
                yield self._known(found, wanted)
            return
        saver = self._saver
        for found in await self._aside(lambda: [*saver.list(self._inner(wanted), **limits)]):
            yield self._known(found, wanted)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        inner = self._inner(config)
        with self._uses.one():
            return self._back(self._saver.put(inner, checkpoint, metadata, new_versions), config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        inner, saver = self._inner(config), self._saver
        if self._is_async:
            put = await saver.aput(inner, checkpoint, metadata, new_versions)
        else:
            put = await self._aside(lambda: saver.put(inner, checkpoint, metadata, new_versions))
        return self._back(put, config)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        with self._uses.one():
            self._saver.put_writes(self._inner(config), writes, task_id, task_path)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        inner, saver = self._inner(config), self._saver
        if self._is_async:
            await saver.aput_writes(inner, writes, task_id, task_path)
        else:
            await self._aside(lambda: saver.put_writes(inner, writes, task_id, task_path))

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self._saver.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> AgentSaver:
        other = self._saver.with_allowlist(extra_allowlist)
        return AgentSaver(other, self._thread, self._space, self._uses)

    async def _aside(self, work: Callable[[], _T]) -> _T:
        """Do work in a thread."""

        def counted() -> _T:
            with self._uses.one():
                return work()

        return await call_blocking(counted)

    # -- the other checkpointer's names --------------------------------------------------------

    def _inner(self, config: RunnableConfig) -> RunnableConfig:
        if self._thread is None:
            return config
        configurable = config.get("configurable", {})
        space = f"{self._space}{configurable.get('checkpoint_ns', '')}"
        named = {"thread_id": self._thread, "checkpoint_ns": space}
        return {**config, "configurable": {**configurable, **named}}

    def _back(self, inner: RunnableConfig, asked: Mapping[str, Any]) -> RunnableConfig:
        if self._thread is None:
            return inner
        configurable = inner["configurable"]
        space = str(configurable.get("checkpoint_ns", "")).removeprefix(self._space)
        named = {"thread_id": asked["configurable"]["thread_id"], "checkpoint_ns": space}
        return {**inner, "configurable": {**configurable, **named}}

    def _outer(
        self, found: CheckpointTuple | None, asked: RunnableConfig
    ) -> CheckpointTuple | None:
        return None if found is None else self._known(found, asked)

    def _known(self, found: CheckpointTuple, asked: RunnableConfig) -> CheckpointTuple:
        parent = found.parent_config
        return found._replace(
            config=self._back(found.config, asked),
            parent_config=None if parent is None else self._back(parent, asked),
        )

    def _wanted(self, config: RunnableConfig | None) -> RunnableConfig:
        if config is None:
            raise ValueError("the threads of agents are listed one by one; name one")
        return config

    def _limits(self, given: Mapping[str, Any]) -> dict[str, Any]:
        before = given.get("before")
        return {**given, "before": None if before is None else self._inner(before)}


def _is_async(saver: BaseCheckpointSaver[Any]) -> bool:
    return type(saver).aput_writes is not BaseCheckpointSaver.aput_writes
