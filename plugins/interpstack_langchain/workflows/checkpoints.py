"""The checkpoints of runs, read and written in the way that a checkpointer allows."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import RESUME

from interpstack import ConfigurationError, InterpstackError, call_blocking, to_end
from interpstack.checks import shown
from interpstack_langchain.workflows.whole_methods import runs_method, whole
from interpstack_workflows.api import UnknownRun, WorkflowError, WorkflowStore

__all__ = [
    "ENTRIES",
    "LATEST",
    "RUN",
    "TURNS",
    "WRITES",
    "CheckpointsOfRuns",
    "run_of_thread",
    "thread_of",
    "use_of_saver",
]

_T = TypeVar("_T")

#: The namespaces of a run.
RUN, ENTRIES, TURNS = "", "workflow_entries", "workflow_turns"
#: A channel of tasks' writes, and one whose writes replace each other.
WRITES: Final = "workflow"
LATEST: Final = RESUME
#: The beginning of the names of threads that have a run.
_THREADS: Final = "workflow:"
#: The saver in memory looks whether there is a write, then adds its own; event loops in several
#: threads may share it.
_IN_MEMORY: Final = threading.Lock()


class CheckpointsOfRuns(WorkflowStore):
    """The base of stores over a checkpointer: one checkpoint in each namespace of a run.

    Args:
        saver: The checkpointer, set up.

    Raises:
        ConfigurationError: The object is not a checkpointer.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        if not isinstance(saver, BaseCheckpointSaver):
            raise ConfigurationError(
                "CheckpointWorkflowStore takes a checkpointer, such as SqliteSaver; "
                f"got {shown(saver)}"
            )
        self._saver = saver
        self._is_async = type(saver).aput_writes is not BaseCheckpointSaver.aput_writes

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The checkpointer."""
        return self._saver

    @staticmethod
    def thread(run_id: str) -> str:
        """The thread that has everything of a run, and goes with it."""
        return thread_of(run_id)

    async def _together(self, method: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Run a method of this store that uses the checkpointer several times.

        A thread that blocks in the checkpointer runs the whole method: to hand it each single use
        takes longer than the use. So a method waits for nothing but the checkpointer.
        """
        if self._is_async or runs_method():
            return await method()
        return await self._blocking(lambda: whole(method()))

    async def _call(self, function: Callable[[], _T]) -> _T:
        """Run a method of a checkpointer that blocks."""
        return function() if runs_method() else await self._blocking(function)

    async def _blocking(self, function: Callable[[], _T]) -> _T:
        """Run a function that blocks in a thread.

        A caller that is cancelled waits for the thread: once a runner is closed, nothing uses the
        checkpointer any more, whose connection its owner may then close.
        """
        return await to_end(call_blocking(function))

    async def _get(self, run_id: str, namespace: str) -> CheckpointTuple | None:
        config = _config(run_id, namespace, "" if namespace == RUN else namespace)
        saver = self._saver
        with use_of_saver("read", run_id):
            if self._is_async:
                return await saver.aget_tuple(config)
            return await self._call(lambda: saver.get_tuple(config))

    async def _known(self, run_id: str, namespace: str) -> CheckpointTuple:
        found = await self._get(run_id, namespace)
        if found is None:
            raise UnknownRun(f"there is no run {run_id!r:.200}; list the runs of the store")
        return found

    async def _put(
        self, run_id: str, namespace: str, name: str, text: str, about: Mapping[str, Any]
    ) -> None:
        versions: Any = {WRITES: secrets.token_hex(8)}
        checkpoint: Any = {
            "v": 1,
            "id": name,
            "ts": "",
            "channel_values": {WRITES: text},
            "channel_versions": versions,
            "versions_seen": {},
            "updated_channels": None,
        }
        config, metadata, saver = _config(run_id, namespace), dict(about), self._saver
        with use_of_saver("written", run_id):
            if self._is_async:
                await saver.aput(config, checkpoint, metadata, versions)  # type: ignore[arg-type]
            else:
                await self._call(lambda: saver.put(config, checkpoint, metadata, versions))  # type: ignore[arg-type]

    def _place(self, run_id: str, namespace: str) -> RunnableConfig:
        """The checkpoint of a namespace, to which writes are added."""
        return _config(run_id, namespace, namespace)

    async def _write(
        self, run_id: str, namespace: str, writes: list[tuple[str, Any]], task: str
    ) -> None:
        config, saver = self._place(run_id, namespace), self._saver
        with use_of_saver("written", run_id):
            if isinstance(saver, InMemorySaver):
                with _IN_MEMORY:
                    saver.put_writes(config, writes, task)
            elif self._is_async:
                await saver.aput_writes(config, writes, task)
            else:
                await self._call(lambda: saver.put_writes(config, writes, task))

    def _write_now(
        self, run_id: str, namespace: str, writes: Sequence[tuple[str, Any]], task: str
    ) -> bool:
        """Add writes before this returns, where that takes next to no time; whether it did."""
        return False


def thread_of(run_id: str) -> str:
    """The thread of a run."""
    return f"{_THREADS}{run_id}"


def run_of_thread(thread: str) -> str:
    """The run of a thread."""
    return thread.removeprefix(_THREADS)


@contextmanager
def use_of_saver(use: str, run_id: str = "") -> Iterator[None]:
    """Say in an error of the store that the checkpointer failed; its own error is the cause.

    A checkpointer raises what its database and its serializer raise, of which there are many kinds.

    Args:
        use: What could not be done, as in "read".
        run_id: The run; empty for all runs.
    """
    try:
        yield
    except InterpstackError:
        raise
    except Exception as error:
        what = f"the record of the run {run_id!r:.80}" if run_id else "the runs"
        told = (str(error).strip().splitlines() or [""])[0]
        raise WorkflowError(
            f"{what} cannot be {use}: the checkpointer failed with {type(error).__name__}: "
            f"{told:.300}; see that its database answers, has room and is not damaged"
        ) from error


def _config(run_id: str, namespace: str, checkpoint: str = "") -> RunnableConfig:
    named = {"checkpoint_id": checkpoint} if checkpoint else {}
    return {"configurable": {"thread_id": thread_of(run_id), "checkpoint_ns": namespace, **named}}
