"""Workplaces of cells: a worker, or none while the cell waits for the host."""

from __future__ import annotations

from typing import Final

import attrs
import pydantic_monty
from pydantic_monty import MontyComplete

from interpstack import EngineFailure
from interpstack_monty.running.turns import SuspensionAnswers
from interpstack_monty.state import MontyState, unopened
from interpstack_monty.workers import MontyWorker

__all__ = ["Workplace"]

#: Seconds that opening a suspended cell may take.
_OPEN_SECONDS: Final = 5.0


@attrs.define(eq=False)
class Workplace:
    """The worker that runs a cell, or Monty's dump of a cell that has none.

    Attributes:
        state: The realm's state, with the workers of the engine.
        turns: The turns of the cell.
        worker: The worker; `None` before the cell begins, in hibernation, and after its end.
    """

    state: MontyState
    turns: SuspensionAnswers
    worker: MontyWorker | None = None
    _hibernated: bytes = b""
    _bound: str = ""

    def take_up(self, snapshot: bytes, bound: str) -> None:
        """Begin with a dump.

        Args:
            snapshot: Monty's dump of the cell.
            bound: The code that bound the bridges in it.
        """
        self._hibernated, self._bound = snapshot, bound

    def open(self) -> None:
        """Take a worker with the realm's state in it.

        Raises:
            EngineFailure: The state cannot be brought into a worker.
        """
        self.worker = self.state.open_worker()

    def dump(self) -> tuple[str, bytes]:
        """The code that bound the bridges, and Monty's dump of the cell; empty before its begin.

        Raises:
            EngineFailure: The cell cannot be dumped.
        """
        if self._hibernated:
            return self._bound, self._hibernated
        at = self.turns.at
        if self.worker is None or at is None or isinstance(at, MontyComplete):
            return "", b""
        try:
            with self.worker.watched(None):
                return self.worker.bound, at.dump()
        except pydantic_monty.MontyError as error:
            raise EngineFailure(f"the cell cannot be suspended: {error}") from error

    def hibernate_if_crowded(self) -> None:
        """Give the worker back while the cell waits for the host, if many others wait, too."""
        if self.state.workers.crowded:
            self._bound, self._hibernated = self.dump()
            self.release()
            self.turns.leave()

    def wake(self) -> None:
        """Bring a hibernated cell back into a worker; does nothing for one that has a worker.

        Raises:
            EngineFailure: The cell cannot be opened.
        """
        if not self._hibernated:
            return
        worker = self.state.workers.take(self.state.limits)
        worker.bind(self._bound)
        try:
            with worker.watched(_OPEN_SECONDS) as session:
                self.turns.open(session, self._hibernated)
        except pydantic_monty.MontyError as error:
            worker.release()
            raise unopened("the suspended cell", error, self.state.limits) from error
        self.worker, self._hibernated = worker, b""

    def release(self) -> None:
        """Return the worker to the pool, with the cell's changes."""
        if self.worker is not None:
            self.worker.release()
            self.worker = None

    def give_up(self) -> None:
        """Return a worker that was stopped, and discard its session."""
        if self.worker is not None:
            self.worker.give_up()

    def kill(self) -> None:
        """Stop the turn that is running."""
        worker = self.worker
        if worker is not None:
            worker.kill()
