"""Databases of checkpoints, as runs of evals share them.

Agents may have checkpointers of their own on one database, in one process or in several. A run of
an eval excludes all other runs of the same eval there, as far as the checkpointer says where its
database is: those of SQLite and PostgreSQL do, through their public `conn`.
"""

from __future__ import annotations

import inspect
import os
import sqlite3
import threading
import weakref
from collections.abc import AsyncIterator, Hashable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from typing import Any, Final

import attrs

from interpstack import Slots, call_blocking, to_end
from interpstack_durable.api import InFlightCalls, InFlightRegistry
from interpstack_langchain.durability.database_locks import DatabaseLocks
from interpstack_langchain.durability.file_locks import FileLocks
from interpstack_langchain.durability.late_results import LateResultRecorder
from interpstack_langchain.durability.postgres_locks import PostgresLocks, parameters_of
from interpstack_state import PostgresStore, SQLiteStore, SqlStore

__all__ = ["Database", "forget_all", "open_database", "state_store_beside"]

#: Runs that are remembered in a database for calls which outlast their pause.
_MAX_LEFT: Final = 256
#: Databases without a running eval that are remembered for calls which outlast a pause.
_MAX_IDLE: Final = 64


@attrs.define(eq=False, repr=False)
class Database:
    """One database of checkpoints, in this process.

    Attributes:
        locks: Exclude runs in other processes; `None` where the database is not known.
        in_flight: Calls that pauses left running.
        left: Runs whose pauses did not wait for all their calls, by the evals' keys.
        late_recorders: Record late results of such runs, under the locks on their evals.
    """

    locks: DatabaseLocks | None
    in_flight: InFlightRegistry = attrs.field(factory=InFlightRegistry)
    left: dict[str, Any] = attrs.field(factory=dict)
    late_recorders: dict[str, LateResultRecorder] = attrs.field(factory=dict, init=False)
    users: int = attrs.field(default=0, init=False)
    _runs: dict[str, tuple[Slots, int]] = attrs.field(factory=dict)
    _lock: threading.Lock = attrs.field(factory=threading.Lock)

    def leave(self, key: str, run: Any) -> None:
        """Note a run of an eval whose pause did not wait for all its calls."""
        self.left[key] = run
        while len(self.left) > _MAX_LEFT:
            del self.left[next(iter(self.left))]

    def follow(self, key: str, run: Any) -> Any:
        """Note the next run of such an eval; returns the one before, `None` if there is none."""
        before = self.left.pop(key, None)
        if before is not None:
            self.leave(key, run)
        return before

    @property
    def idle(self) -> bool:
        """Whether no eval runs, and no process has to wait for calls of this one."""
        return not self.users and not self.late_recorders

    async def record_late_results(self, key: str, calls: InFlightCalls) -> None:
        """Keep the lock on an eval until calls that its pause left running are recorded.

        Without a lock, nothing is recorded: another process could record other entries meanwhile.
        Returns once the lock is held for the calls.
        """
        if self.locks is not None:
            recorder = LateResultRecorder(self.locks, key, calls, self._recorded)
            self.late_recorders[key] = recorder
            await recorder.begin()

    def _recorded(self, recorder: LateResultRecorder) -> None:
        if self.late_recorders.get(recorder.key) is recorder:
            del self.late_recorders[recorder.key]

    @asynccontextmanager
    async def _taking_over(self, key: str) -> AsyncIterator[bool]:
        """Stop the recorder of the run before this one, which holds the lock by now.

        If this run fails before it has passed the calls on, they are recorded as before.

        Yields:
            Whether there was such a recorder.
        """
        recorder = self.late_recorders.pop(key, None)
        try:
            if recorder is not None:
                await recorder.stop()
            yield recorder is not None
        except GeneratorExit:
            raise  # the event loop was closed: nothing can be awaited any more
        except BaseException:
            if recorder is not None and key not in self.late_recorders:
                await to_end(self.record_late_results(key, recorder.calls))
            raise

    @asynccontextmanager
    async def across(self, key: str) -> AsyncIterator[None]:
        """Keep this process's lock on an eval while one run hands it on to the next.

        Between the two, another process could take the lock and make calls again that still run.
        """
        async with AsyncExitStack() as lock:
            if self.locks is not None:
                with suppress(TimeoutError):  # another process has the lock after all
                    await lock.enter_async_context(self.locks.lock(key, 0.0))
            yield

    @asynccontextmanager
    async def alone(
        self, key: str, lock_timeout: float | None = None, left: str = ""
    ) -> AsyncIterator[bool]:
        """Run an eval while no other run of the eval does.

        Args:
            key: Identifies the eval.
            lock_timeout: Seconds to wait at most for a run in another process.
            left: Names the calls that the last pause left running, for the reader of a warning.

        Yields:
            Whether this run had to wait for another one, which may have recorded entries.

        Raises:
            TimeoutError: A run in another process took longer.
        """
        with self._lock:
            slots, runs = self._runs.get(key, (Slots(1), 0))
            self._runs[key] = slots, runs + 1
        try:
            async with slots.slot():
                if self.locks is None:
                    yield bool(runs)
                else:
                    async with (
                        self.locks.lock(key, lock_timeout, left) as waited,
                        self._taking_over(key) as took_over,
                    ):
                        yield bool(runs) or waited or took_over
        finally:
            with self._lock:
                slots, runs = self._runs.pop(key)
                if runs > 1:
                    self._runs[key] = slots, runs - 1


_known: dict[Hashable, Database] = {}
#: Locks by the parameters of their connection, and by the checkpointers that have the same.
_postgres: weakref.WeakValueDictionary[Hashable, PostgresLocks] = weakref.WeakValueDictionary()
_of_conn: weakref.WeakKeyDictionary[Any, PostgresLocks] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


@asynccontextmanager
async def open_database(saver: Any) -> AsyncIterator[Database]:
    """The database of a checkpointer, the same for all checkpointers on it."""
    identity, locks = await _identified(saver)
    with _lock:
        database = _known.get(identity)
        if database is None:
            database = _known[identity] = Database(locks)
        database.users += 1
    try:
        yield database
    finally:
        with _lock:
            database.users -= 1
            idle = [one for one, known in _known.items() if known.idle]
            for one in idle[: max(0, len(idle) - _MAX_IDLE)]:
                del _known[one]
            if database.idle and not database.left and database.in_flight.empty:
                _known.pop(identity, None)


async def _identified(saver: Any) -> tuple[Hashable, DatabaseLocks | None]:
    """Identify the database of a checkpointer in this process; return it with its locks."""
    conn = getattr(saver, "conn", None)
    packages = _packages(conn)
    if "sqlite3" in packages or "aiosqlite" in packages:
        path = await _path(saver, conn)
        return (("sqlite", path), FileLocks(path)) if path else (("object", id(conn)), None)
    if "psycopg" in packages or "psycopg_pool" in packages:
        locks = _postgres_locks(conn)
        return ("object", id(saver) if locks is None else id(locks)), locks
    return ("object", id(saver)), None


async def state_store_beside(saver: Any, space: str, *, read_only: bool) -> SqlStore | None:
    """The store of states in the database of a checkpointer; `None` if the database is not known.

    Args:
        saver: The checkpointer.
        space: The space of the states.
        read_only: Whether the store refuses changes.
    """
    conn = getattr(saver, "conn", None)
    packages = _packages(conn)
    if "sqlite3" in packages or "aiosqlite" in packages:
        path = await _path(saver, conn)
        return SQLiteStore(path, space=space, read_only=read_only) if path else None
    parameters = parameters_of(conn) if packages & {"psycopg", "psycopg_pool"} else None
    if parameters is None:
        return None
    from psycopg.conninfo import make_conninfo

    return PostgresStore(make_conninfo(**parameters), space=space, connections=1)


def _packages(conn: Any) -> set[str]:
    """The packages of a connection's classes, by which its database is known."""
    return {base.__module__.partition(".")[0] for base in type(conn).__mro__}


async def _path(saver: Any, conn: Any) -> str:
    """Path of an SQLite database; empty for one in memory, or if it cannot be known."""
    question = "SELECT file FROM pragma_database_list WHERE name = 'main'"

    def ask() -> str:
        lock: Any = getattr(saver, "lock", nullcontext())
        with lock:
            (path,) = conn.execute(question).fetchone()
        return str(path)

    try:
        if inspect.iscoroutinefunction(conn.commit):
            async with conn.execute(question) as cursor:
                (path,) = await cursor.fetchone()
        else:
            path = await call_blocking(ask)
    except (sqlite3.Error, ValueError):  # it is bound to its thread, or closed
        return ""
    return await call_blocking(lambda: os.path.realpath(path)) if path else ""


def _postgres_locks(conn: Any) -> PostgresLocks | None:
    """The locks for a connection or a pool; `None` if its server is not known."""
    with _lock:
        locks = _of_conn.get(conn)
        parameters = parameters_of(conn) if locks is None else None
        if parameters is not None:
            identity = tuple(sorted(parameters.items()))
            locks = _postgres.get(identity)
            if locks is None:
                locks = _postgres[identity] = PostgresLocks(parameters)
            _of_conn[conn] = locks
        return locks


def forget_all() -> None:
    """Forget all databases, as the child of a fork must: no run of the parent continues there."""
    global _lock
    _lock = threading.Lock()
    for locks in [*(database.locks for database in _known.values()), *_of_conn.values()]:
        if locks is not None:
            locks.abandon()
    _known.clear()
    _of_conn.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_all)
