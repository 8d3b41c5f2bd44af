"""Write the entries of a run: one write at a time, each with all entries that are ready."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from interpstack_workflows.steps.entries import Entry
from interpstack_workflows.stores.store import Lease, WorkflowStore

__all__ = ["RecordWriter"]


class RecordWriter:
    """Append the entries of one run, in order.

    Args:
        store: The store of the run.
        lease: The runner's lease; its token fences every write.
        index: How many entries the run has.
        failed: Called once when a write fails; nothing is written after that.
    """

    def __init__(
        self, store: WorkflowStore, lease: Lease, index: int, failed: Callable[[], None]
    ) -> None:
        self._store = store
        self._lease = lease
        self._index = index
        self._failed = failed
        self._waiting: list[Entry] = []
        self._writing: asyncio.Task[None] | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._error: Exception | None = None

    def write(self, entry: Entry) -> None:
        """Append an entry while the guest goes on; `safe` waits until it is stored."""
        self._waiting.append(entry)
        if self._writing is None and self._error is None:
            self._writing = asyncio.create_task(self._write())

    async def safe(self) -> None:
        """Wait until everything is stored that was written before.

        Raises:
            LeaseLost: Another runner works on the run now.
            Exception: The store's own error.
        """
        while self._writing is not None:
            written = asyncio.get_running_loop().create_future()
            self._waiters.append(written)
            await written
        if self._error is not None:
            raise self._error

    async def ended(self, seconds: float) -> None:
        """Wait until nothing is being written, for at most some seconds."""
        if self._writing is not None:
            await asyncio.wait({self._writing}, timeout=seconds)

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._failed()

    async def _write(self) -> None:
        try:
            while self._waiting:
                ready, self._waiting = self._waiting, []
                await self._store.append(self._lease.run_id, self._index, ready, self._lease)
                self._index += len(ready)
        except Exception as error:  # noqa: BLE001 - raised by `safe`
            self._fail(error)
        finally:
            self._writing = None
            waiters, self._waiters = self._waiters, []
            for written in waiters:
                if not written.done():
                    written.set_result(None)
