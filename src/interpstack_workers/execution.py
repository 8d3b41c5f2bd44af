"""The run of one cell in a worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, Final

import attrs

from interpstack import (
    Cell,
    ConfigurationError,
    EngineFailure,
    Execution,
    GuestError,
    Image,
    ImageError,
    Progress,
    Settlement,
    run_guest,
)
from interpstack.values import to_json
from interpstack_workers.messages import pack_settlements, read_progress
from interpstack_workers.recording import Recording
from interpstack_workers.residence import Residence
from interpstack_workers.saved_state import StateLost
from interpstack_workers.steps import Asking, Placing, Steps, drive, run_steps
from interpstack_workers.workers import Command, Overloaded, Worker, WorkerAnswer, WorkerDied

__all__ = ["WorkerExecution"]

#: Wall time a guest may take for its CPU time: the machine may be busy elsewhere.
_WALL_FACTOR: Final = 3
#: Seconds that an engine may take to stop a guest whose time is up.
_STOP_SECONDS: Final = 1.0
_ABORT_SECONDS: Final = 5.0
#: Workers that may turn out to be dead, one after another, before a poll gives up.
_ATTEMPTS: Final = 5
#: Refusals that no engine has for a cell that runs: only a worker that was taken over sends them.
_REFUSALS: Final = (ConfigurationError, ImageError, NotImplementedError)


class WorkerExecution(Execution):
    """The run of one cell.

    Args:
        residence: The place where the cell runs.
        cell: The cell to run; `None` for the cell that was running when `suspended` was taken.
        suspended: The image that the realm was opened with.
        before: The state from before the suspended cell.
    """

    def __init__(
        self,
        residence: Residence,
        cell: Cell | None,
        *,
        suspended: Image | None = None,
        before: Image | None = None,
    ) -> None:
        self._residence = residence
        self._cell = cell
        self._recording = Recording(residence, cell, suspended)
        self._resumes = cell is None
        self._worker: Worker | None = residence.worker if self._resumes else None
        self._before = before
        self._undo_to = residence.saved
        self._settlements: list[Settlement] = []
        self._last_id = 0
        self._completed = False
        self._over = False
        self._interrupted = False
        self._failed = False
        #: The end of a worker, for the message of whoever aborts the cell.
        self._unreported: GuestError | None = None
        #: Its worker died, and it went on in another one from its middle.
        self._carried = False
        self._hear: Callable[[str], None] | None = None

    # -- the protocol ----------------------------------------------------------------------

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        if self._over:
            return Progress()
        if self._interrupted:
            return Progress(exhausted=True)
        return run_steps(self._steps(now, cpu_seconds))

    def _steps(self, now: float, cpu_seconds: float | None) -> Steps[Progress]:
        begun = time.monotonic()
        try:
            answer = yield from self._polled(now, cpu_seconds)
            if answer is None:
                return Progress(exhausted=True)
            return self._read(answer, time.monotonic() - begun)
        except Overloaded as error:
            return self._refused(error)
        except StateLost as error:
            return self._end_lost(error)
        except WorkerDied as death:
            progress = self._fail(str(death), time.monotonic() - begun)
            return self._exhausted(progress) if death.late else progress
        except EngineFailure as error:
            return self._fail(str(error), time.monotonic() - begun)

    async def apoll(
        self,
        now: float,
        cpu_seconds: float | None,
        settlements: Sequence[Settlement] = (),
        check: Callable[[Progress], Progress] = lambda progress: progress,
    ) -> Progress:
        """Poll with threads for the steps that wait; few do."""
        threads = self._residence.pool.threads
        if threads is None:
            step = partial(self.advance, now, cpu_seconds, settlements, check)
            return await run_guest(step, self.interrupt)
        self.settle(settlements)
        if self._over or self._interrupted:
            return check(self.poll(now, cpu_seconds))
        polled = drive(self._steps(now, cpu_seconds), threads, check)
        return await run_guest(polled.result, self.interrupt, _Started(polled))

    def settle(self, settlements: Sequence[Settlement]) -> None:
        self._settlements += settlements

    def abort(self, reason: str) -> Progress:
        if self._over or self._worker is None:
            self._end()
            failure, self._unreported = self._unreported, None
            return Progress(failure=failure)
        try:
            message = self._residence.message("abort", reason=reason)
            answer = self.place().ask(Command(message, seconds=_ABORT_SECONDS))
            progress = Progress() if answer is None else self._read(answer, _ABORT_SECONDS)
        except (WorkerDied, EngineFailure, *_REFUSALS) as error:
            return self._fail(str(error), 0.0)
        self._end()
        return progress

    def undo(self) -> None:
        residence, before = self._residence, self._undo_to
        if self._worker is None or self._failed:
            return  # then the realm has the state from before this cell
        if before.values is not None or before.lost:
            residence.keep(residence.ask("undo"))
            return
        residence.start_from(before)
        residence.detach()

    def listen(self, hear: Callable[[str], None]) -> None:
        self._hear = hear

    def interrupt(self) -> None:
        self._interrupted = True  # whoever waits for the worker looks at it often

    # -- inside ----------------------------------------------------------------------------

    def place(self) -> Worker:
        """The worker this runs in; if that died while the cell waited for the host, another.

        Raises:
            WorkerDied: It died, and the cell with it.
        """
        if self._worker is not None and self._worker.ended:
            self._worker = self._carry_on(self._worker)
        return self._worker or _found_worker(self._residence, new=not self._resumes)

    def _carry_on(self, dead: Worker) -> Worker:
        if self._completed or not (self._residence.repeats or self._resumes):
            raise WorkerDied(dead.reason, unread=False)
        try:
            worker = self._residence.carry_on(self._recording.paused(begun=not self._resumes))
        except ImageError as error:
            raise WorkerDied(f"{dead.reason}, and {error}", unread=False) from error
        self._carried = self._recording.has_middle and not self._resumes
        return worker

    def _polled(self, now: float, cpu_seconds: float | None) -> Steps[WorkerAnswer | None]:
        residence = self._residence
        seconds = None if cpu_seconds is None else _WALL_FACTOR * cpu_seconds + _STOP_SECONDS
        for _ in range(_ATTEMPTS):
            worker = _at_hand(self._worker, residence, new=not self._resumes)
            worker = worker or (yield Placing(self.place))
            before = self._before if self._resumes else None
            message = residence.message(
                "poll",
                resume=self._resumes,
                before=None if before is None else [before.engine, before.base],
                cell=None if self._cell is None else to_json(self._cell),
                settle=pack_settlements(self._settlements),
                now=now,
                cpu=cpu_seconds,
                spare=self._recording.spare,
                listen=self._hear is not None,
            )
            command = Command(
                message,
                b"" if before is None else before.data,
                seconds=seconds,
                interrupted=lambda: self._interrupted,
                hear=self._hear or _ignore,
            )
            residence.go_on()
            try:
                answer: WorkerAnswer | None = yield Asking(worker, command)
            except WorkerDied as death:
                if not death.unread:
                    raise
                continue
            except _REFUSALS as refusal:
                if self._resumes:  # the caller's image may be a wrong one
                    raise
                reason = f"{type(refusal).__name__}: {refusal}"
                worker.end(f"was killed because it refused the cell that it runs ({reason})")
                raise WorkerDied(worker.reason, unread=False) from refusal
            if answer is not None:
                self._recording.ask(now, self._settlements)
                self._begin(worker)
            return answer
        raise EngineFailure(f"no {residence.pool.title} stays alive")

    def _begin(self, worker: Worker) -> None:
        self._worker, self._cell = worker, None
        self._resumes = False
        self._settlements.clear()
        self._residence.bound()
        self._residence.house(self)

    def _read(self, answer: WorkerAnswer, seconds: float) -> Progress:
        residence = self._residence
        with residence.checking():
            progress = read_progress(answer.message.get("done"), self._last_id, seconds)
        if progress.requests:
            self._last_id = progress.requests[-1].id
        if progress.failure is not None and self._carried:
            # The engine has gone back to where the cell was carried on, in its middle.
            self._end()
            residence.detach()
            return progress
        if residence.repeats and not self._completed and "kept" not in answer.message:
            self._recording.note(answer, progress)
        residence.keep(answer)
        if progress.completion is not None:
            self._completed = True
        if progress.completion is not None or progress.failure is not None:
            residence.house(None)
            self._over = progress.failure is not None
        return progress

    def _refused(self, error: Overloaded) -> Progress:
        """The end of a cell that was not begun."""
        self._end()
        data = {"retry_seconds": error.retry_seconds}
        return Progress(failure=GuestError("Overloaded", str(error), data=data))

    def _end(self) -> None:
        self._over = True
        self._settlements.clear()
        self._residence.house(None)

    def _fail(self, what: str, seconds: float) -> Progress:
        """The end of a cell whose worker is gone; the next one finds the state before it."""
        self._end()
        self._failed = not self._completed
        residence = self._residence
        residence.detach()
        if self._completed:
            late = f"{what}; changes by code that ran after the end of the cell were undone"
            self._unreported = GuestError("EngineFailure", late)
            return Progress(failure=self._unreported, cpu_seconds=seconds)
        if residence.saved.lost:
            return self._end_lost(residence.start_anew(what), seconds)
        failure = GuestError("EngineFailure", f"{what}; {residence.saved.described()}")
        return Progress(failure=failure, state="undone", cpu_seconds=seconds)

    def _exhausted(self, progress: Progress) -> Progress:
        """The end of a cell whose time was up when its worker was killed.

        The caller knows which limit it was; the words for the worker's end follow with `abort`.
        """
        self._unreported = progress.failure
        return attrs.evolve(progress, failure=None, exhausted=True)

    def _end_lost(self, lost: StateLost, seconds: float = 0.0) -> Progress:
        """The end of a cell whose variables were lost before or during its run."""
        self._end()
        failure = GuestError("EngineFailure", str(lost))
        return Progress(failure=failure, state="lost", loss=lost.loss, cpu_seconds=seconds)


def _at_hand(worker: Worker | None, residence: Residence, *, new: bool) -> Worker | None:
    """The worker of a cell, or of the realm in which a new one begins; `None` if it is to be found.

    Raises:
        StateLost: The realm's state was lost.
    """
    if worker is None:
        return residence.staying() if new else None
    return None if worker.ended else worker


def _found_worker(residence: Residence, *, new: bool) -> Worker:
    """The realm's worker, or a better one for the cell that begins.

    Raises:
        Overloaded: A new cell may not begin now.
    """
    worker = residence.attach()
    residence.check_lost()
    residence.pool.wait_for_turn(worker)
    if residence.pool.should_move(worker):
        residence.move_from(worker)
    worker = residence.attach()
    if new:
        residence.pool.admit(residence.number)
    return worker


class _Started(Executor):
    """Stands for the threads of something that runs already: `submit` returns its future."""

    def __init__(self, running: Future[Any]) -> None:
        self._running = running

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._running


def _ignore(part: str) -> None:
    """Without a listener, output is returned with the cell's calls."""
