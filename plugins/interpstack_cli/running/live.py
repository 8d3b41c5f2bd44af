"""Runs a cell whose console output reaches standard output while it runs."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import attrs

from interpstack import Cell, Outcome, Session
from interpstack_cli.printing import encodable, output

__all__ = ["eval_live", "interruptible"]

_T = TypeVar("_T")
#: Seconds after which the event loop looks for signals, at the latest.
_BEAT_SECONDS: Final = 0.1


async def interruptible(work: Awaitable[_T]) -> _T:
    """Wait for an awaitable, which Ctrl-C cancels.

    A signal that arrives just when the event loop begins to wait is noticed only when the loop
    wakes up, which may take long without a timer.
    """
    beating = asyncio.ensure_future(_beat())
    try:
        return await work
    finally:
        beating.cancel()


async def _beat() -> None:
    while True:  # noqa: ASYNC110 - it waits for nothing
        await asyncio.sleep(_BEAT_SECONDS)


async def eval_live(session: Session, cell: Cell) -> Outcome:
    """Run a cell; its console output is written as it comes, also if the cell is cancelled.

    Returns:
        The outcome without the output, which is written already.

    Raises:
        Problem: Standard output cannot be written to; the cell is cancelled.
        BrokenPipeError: Whoever read it has enough; likewise.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in a task
    writer = _Writer(lambda: loop.call_soon_threadsafe(task.cancel))
    try:
        outcome = await interruptible(session.eval(cell, on_console=writer))
        # What cannot be written cancels this task, even when the cell has ended.
        await writer.finish(outcome.console)
    except BaseException:
        await writer.finish(None)
        if writer.error is not None:
            raise writer.error from None
        raise
    if writer.error is not None:
        raise writer.error
    return attrs.evolve(outcome, console="")


class _Writer:
    """A writer of text in its own thread, so that a slow reader delays no other work.

    The waiting text is bounded like the output of a cell.

    Args:
        on_error: Called when standard output takes no more.
    """

    def __init__(self, on_error: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self._on_error = on_error
        self._parts: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._chars = 0
        self._last = ""
        self._thread: threading.Thread | None = None
        self._loop = asyncio.get_running_loop()
        self._written = asyncio.Event()

    def __call__(self, part: str) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="interpstack-out", daemon=True)
            self._thread.start()
        self._chars += len(part)
        self._last = part[-1]
        self._parts.put(part)

    async def finish(self, console: str | None) -> None:
        """End the last line, and wait until all is written.

        Args:
            console: The whole output; `None` if unknown.
        """
        if self._thread is None:
            return
        ended = self._last == "\n" if console is None else self._chars > len(console)
        if not ended:
            self._parts.put("\n")
        self._parts.put(None)
        await self._written.wait()

    def _work(self) -> None:
        while (part := self._parts.get()) is not None:
            if self.error is not None:
                continue
            try:
                with output() as stream:
                    stream.write(encodable(part, stream))
                    stream.flush()
            except BaseException as error:  # noqa: BLE001 - raised where the cell is waited for
                self.error = error
                self._on_error()
        self._loop.call_soon_threadsafe(self._written.set)
