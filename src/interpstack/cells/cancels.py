"""Cancellations of a cell and its requests, as opposed to those that handlers cause."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs

from interpstack.contracts.raised import ends_program

__all__ = ["Cancels"]


def _task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("cells and requests run in tasks")
    return task


@attrs.define(eq=False, repr=False)
class Cancels:
    """The host's cancellations of one cell; made in the cell's task.

    Attributes:
        tasks: Tasks of requests that were cancelled and have not ended, by id; `None` for requests
            that may be cancelled by others.
    """

    tasks: dict[int, asyncio.Task[None] | None] = attrs.field(factory=dict)
    _cell: asyncio.Task[Any] = attrs.field(factory=_task)
    #: How often the cell's task had been asked to end before the cell began.
    _before: int = attrs.field(factory=lambda: _task().cancelling())

    def cancel(self, request_id: int, task: asyncio.Task[None], grace: float) -> None:
        """Cancel a request that does not end by itself within `grace` seconds."""
        task.get_loop().call_later(grace, task.cancel) if grace else task.cancel()
        self.tasks[request_id] = task
        task.add_done_callback(lambda _: self.tasks.pop(request_id, None))

    def expect(self, request_id: int) -> None:
        """Take any cancellation of a request for the host's."""
        self.tasks[request_id] = None

    def happened(self, request_id: int = 0) -> bool:
        """Whether the host cancelled the cell, or this request, in whose task the caller is."""
        return self._asked(request_id) and _task().cancelling() > 0

    def _asked(self, request_id: int) -> bool:
        return request_id in self.tasks or self._cell.cancelling() > self._before

    def forget_own(self, task: asyncio.Task[Any], request_id: int) -> None:
        """Forget what the handler of a request did to its task, once it has ended.

        Before Python 3.13, a task group that fails leaves its task as if it had been cancelled.
        """
        while task.cancelling() and not self._asked(request_id):
            task.uncancel()

    def is_for_host(self, error: BaseException, request_id: int = 0) -> bool:
        """Whether an exception is meant for the caller of the program, not for the code."""
        if type(error) is asyncio.CancelledError:
            return self.happened(request_id)
        if type(error) is GeneratorExit:  # also of a coroutine whose loop was closed
            return not self._cell.get_loop().is_running()
        return ends_program(error)
