"""The run of one cell: drives Monty from one suspension to the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import pydantic_monty

from interpstack import Cell, Completion, Execution, GuestError, Progress, Settlement
from interpstack_monty.crossing.errors import (
    describe,
    is_memory_limit,
    is_time_limit,
    naming_language,
    placed,
)
from interpstack_monty.crossing.results import UNDONE, completion_of, failure_of, shown_chars
from interpstack_monty.images import Saved
from interpstack_monty.preparation.sources import prepared_source
from interpstack_monty.preparation.timeouts import ScanDeadline, ScanTimeout
from interpstack_monty.running.cancel import cancel
from interpstack_monty.running.emitted import Emitted
from interpstack_monty.running.turns import SuspensionAnswers
from interpstack_monty.running.workplaces import Workplace
from interpstack_monty.state import MontyState
from interpstack_monty.workers import KernelReplaced, MontyWorker
from interpstack_python.advice import ADVISED

__all__ = ["MontyExecution"]

#: Seconds that an aborted cell may take to wind down before it is undone.
_WIND_DOWN_SECONDS: Final = 0.25
#: Seconds after its time limit in which Monty itself stops the code, and keeps its output.
_GRACE_SECONDS: Final = 0.25
#: Share of the time limit that must be used up before Monty is believed that it is: its clock
#: and that of this process differ a little.
_BELIEVED: Final = 0.95
#: Names of replaced bridges in a notice, at most.
_TAKEN: Final = 5


class MontyExecution(Execution):
    """The run of one cell.

    Args:
        state: The realm's state.
        cell: The cell to run.
        ended: Called with this execution once it has ended.
    """

    def __init__(
        self, state: MontyState, cell: Cell, ended: Callable[[MontyExecution], None]
    ) -> None:
        self._state = state
        self._cell = cell
        self._tell_end = ended
        self._before: Saved = state.saved
        self._emitted = Emitted(state.limits, state.bridges)
        self._turns = SuspensionAnswers(self._emitted)
        self._place = Workplace(state, self._turns)
        self._spent = 0.0
        self._turn_began = 0.0  # in the worker, by `time.perf_counter`
        self._source = ""  # as Monty gets it
        self._lines = len(cell.source.splitlines())
        self._error: pydantic_monty.MontyError | None = None  # with which the cell ended
        self._ended = False
        self._stopped = False  # by `interrupt`

    @classmethod
    def restored(
        cls,
        state: MontyState,
        ended: Callable[[MontyExecution], None],
        data: Mapping[str, Any],
        snapshot: bytes,
    ) -> MontyExecution:
        """The execution that an image was taken of."""
        execution = cls(state, Cell(source="", name=str(data["cell"])), ended)
        execution._turns.restore(data)
        execution._place.take_up(snapshot, data["bound"])
        execution._spent = data["spent"]
        execution._lines = data["lines"]
        return execution

    # -- the protocol ----------------------------------------------------------------------

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        self._turns.clock.tell(now)
        if self._ended:
            return Progress()
        self._place.wake()
        prepared = 0.0
        if self._place.worker is None:
            timeout = ScanDeadline(cpu_seconds, lambda: self._stopped)
            ended = self._begin(timeout)
            if ended is not None:
                return ended
            prepared, cpu_seconds = timeout.spent, timeout.left()
        worker = self._place.worker
        assert worker is not None  # noqa: S101 - set above
        begun = self._turn_began = time.perf_counter()
        end = None if cpu_seconds is None else begun + cpu_seconds
        try:
            with worker.watched(self._timeout(cpu_seconds)):
                completion = self._run(worker, end)
                if completion is not None:
                    self._commit(worker)
                    completion = self._advised(completion, worker)
        except (pydantic_monty.MontyError, KernelReplaced) as error:
            return self._stopped_by(error, time.perf_counter() - begun + prepared)
        spent = time.perf_counter() - begun
        self._spent += spent
        overrun = cpu_seconds is not None and spent > cpu_seconds
        spent += prepared
        if completion is not None:
            return self._end(Progress(completion=completion, cpu_seconds=spent))
        if overrun:
            exhausted = Progress(exhausted=True, cpu_seconds=spent)
            return self._emitted.drained(exhausted, ended=True)
        self._place.hibernate_if_crowded()
        return self._emitted.drained(Progress(cpu_seconds=spent))

    def settle(self, settlements: Sequence[Settlement]) -> None:
        for settlement in settlements:
            if not self._ended:
                self._turns.settle(settlement)

    def abort(self, reason: str) -> Progress:
        if self._ended:
            return self._emitted.drained(Progress(), ended=True)
        undone = None
        self._place.wake()
        worker = self._place.worker
        if worker is not None and not self._wound_down(worker):
            undone = GuestError("EngineFailure", UNDONE)
        return self._end(Progress(failure=undone, state="kept" if undone is None else "undone"))

    def undo(self) -> None:
        self._state.go_to(self._before)

    def listen(self, hear: Callable[[str], None]) -> None:
        self._emitted.listen(hear)

    def interrupt(self) -> None:
        self._stopped = True
        self._place.kill()

    # -- for the realm ---------------------------------------------------------------------

    def suspend(self) -> tuple[Mapping[str, Any], bytes]:
        """The state of the cell, and Monty's dump of it, which is empty before the cell begins.

        Raises:
            EngineFailure: It cannot be dumped.
        """
        bound, snapshot = self._place.dump()
        if not snapshot:
            return {}, b""
        data = {
            "cell": self._cell.name,
            "spent": self._spent,
            "lines": self._lines,
            "bound": bound,
            **self._turns.to_data(),
        }
        return data, snapshot

    def close(self) -> None:
        """Return the worker; the effects of the cell are lost."""
        self._ended = True
        self._place.release()

    # -- from one suspension to the next ---------------------------------------------------

    def _run(self, worker: MontyWorker, end: float | None) -> Completion | None:
        """Run until the cell has ended, waits for the host, or has used up its time.

        Args:
            end: When the time is up, by `time.perf_counter`.

        Raises:
            MontyError: It had to be stopped; an error of its own is a completion.
            KernelReplaced: It could not begin.
        """
        begins = self._turns.at is None
        if begins:
            worker.run(f"__interpstack_seed__({self._cell.seed or 0})")
        try:
            if begins:
                self._turns.begin(worker.session, self._source)
            done = self._turns.run(end)
        except (pydantic_monty.MontyRuntimeError, pydantic_monty.MontySyntaxError) as error:
            if self._given_up(error):
                raise
            self._error = error
            return Completion(error=self._described(error))
        return None if done is None else completion_of(done.output, shown_chars(self._state.limits))

    def _timeout(self, cpu_seconds: float | None) -> float | None:
        """Seconds after which to kill the worker; `None` where Monty's own limit comes first."""
        if self._stopped:
            return 0.0
        limit = self._state.limits.cpu_seconds
        if cpu_seconds is None or (limit is not None and cpu_seconds > limit - self._spent - 0.1):
            return None
        return cpu_seconds + _GRACE_SECONDS

    # -- ends ------------------------------------------------------------------------------

    def _end(self, progress: Progress) -> Progress:
        self.close()
        self._turns.leave()
        self._tell_end(self)
        return self._emitted.drained(progress, ended=True)

    def _exhausted(self, spent: float) -> Progress:
        # Monty promises nothing of a session it had to stop, so the cell is undone.
        self._place.give_up()
        return self._emitted.drained(Progress(exhausted=True, cpu_seconds=spent), ended=True)

    def _given_up(self, error: Exception) -> bool:
        """Whether Monty stopped the cell; the cell itself may raise the same error."""
        return is_memory_limit(error) or self._out_of_time(error)

    def _out_of_time(self, error: Exception) -> bool:
        limit = self._state.limits.cpu_seconds
        if limit is None or not is_time_limit(error):
            return False
        return self._spent + time.perf_counter() - self._turn_began >= _BELIEVED * limit

    def _stopped_by(self, error: Exception, spent: float) -> Progress:
        """The progress of a cell that Monty stopped, or whose process died."""
        worker = self._place.worker
        assert worker is not None  # noqa: S101 - it has just been used
        killed = worker.killed or getattr(error, "timed_out", False)
        if killed or self._out_of_time(error):
            return self._exhausted(spent)
        failure = failure_of(error, self._state.limits)
        return self._end(Progress(failure=failure, state="undone", cpu_seconds=spent))

    def _described(self, error: pydantic_monty.MontyError) -> GuestError:
        described = describe(error, self._cell.name, self._turns.named, self._lines)
        missing = described.message.partition("'")[2].partition("'")[0]
        why = self._state.saved.lost.get(missing)
        if described.name == "NameError" and why is not None:
            self._error = None  # the message says all
            message = f"Value for {missing!r} was not restored because {why}."
            return attrs.evolve(described, message=message)
        described = placed(described, error, self._cell.source)
        return naming_language(described, self._cell.source)

    def _advised(self, completion: Completion, worker: MontyWorker) -> Completion:
        """The completion, whose error says what is missing; call it once the state is stored."""
        error, raised = completion.error, self._error
        if error is None or error.name not in ADVISED:
            return completion
        if not isinstance(raised, pydantic_monty.MontyRuntimeError):
            return completion
        from interpstack_monty.running.advice import with_advice  # loaded for an error only

        error = with_advice(error, raised, self._cell, self._state.bridges, worker)
        return attrs.evolve(completion, error=error)

    def _commit(self, worker: MontyWorker) -> None:
        """Store the state, and add notices for the parts that are not stored."""
        taken = self._state.commit(worker)
        for name in taken[:_TAKEN]:
            self._emitted.note(
                f"{name} is the name of a bridge; what the cell assigned to it ends with the cell"
            )

    def _begin(self, timeout: ScanDeadline) -> Progress | None:
        """Prepare the cell and take a worker; the last progress of a cell that cannot be run."""
        try:
            prepared = prepared_source(self._cell, self._state, timeout)
        except ScanTimeout:
            return self._exhausted(timeout.spent)
        if isinstance(prepared, GuestError):
            completion = Completion(error=prepared)
            return self._end(Progress(completion=completion, cpu_seconds=timeout.spent))
        self._source = prepared
        self._place.open()
        return None

    def _wound_down(self, worker: MontyWorker) -> bool:
        """End the cell. Returns whether the cell ended cleanly, so that its state can be stored."""
        at = self._turns.at
        if worker.killed or at is None:
            return False
        self._turn_began = time.perf_counter()
        try:
            with worker.watched(_WIND_DOWN_SECONDS):
                if not cancel(at, self._given_up):
                    return False
                self._commit(worker)
        except (pydantic_monty.MontyError, KernelReplaced):
            return False
        return True
