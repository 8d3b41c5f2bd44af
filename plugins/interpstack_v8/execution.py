"""The run of one cell."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack import BridgeSet, Cell, EngineFailure, GuestError, Notification, Progress
from interpstack_javascript.cells import (
    CellTimeout,
    Prepared,
    SourceError,
    ThreadClock,
    load,
    prepared,
)
from interpstack_javascript.exchange import MEMBER_SECONDS, drained_progress
from interpstack_javascript.kept_realms.keepable_execution import KeepableExecution
from interpstack_javascript.modules import ModuleTable
from interpstack_v8.context import SCRIPT
from interpstack_v8.guest_modules import module_fault
from interpstack_v8.heap import RealmHeap
from interpstack_v8.isolates.abandoned import TooManyAbandoned
from interpstack_v8.isolates.failures import IsolateGone, IsolateLost, OutOfHeap
from interpstack_v8.isolates.host_functions import GuestAnswer
from interpstack_v8.isolates.isolate import Isolate

__all__ = ["V8Execution"]

#: Said wherever a cell had to be taken back.
UNDONE: Final = (
    "variables were reset to their values from before this cell; functions and classes are lost"
)
#: Seconds for the kernel's part of an end, on a busy machine.
_WIND_DOWN_SECONDS: Final = 0.5
#: Times that the engine is entered for a module before the guest counts as idle.
_MODULE_STEPS: Final = 50
#: Bytes of garbage that the heap or buffers may contain in addition to the guest's live data.
_GARBAGE_BYTES: Final = 64 * 2**20
#: Bytes beyond the limit that a stopped cell may leave: nobody knows whether they are garbage, and
#: the export of its values, or the next cell, would pay for them. Room for 20,000 rejected promises
#: with their errors, which V8 frees late.
_LEFT_BYTES: Final = 32 * 2**20


class V8Execution(KeepableExecution):
    """The run of one cell.

    Args:
        heap: Holds the variables of the realm.
        modules: Sources that the guest may import; answers add to them.
        cell: The cell to run.
    """

    def __init__(self, heap: RealmHeap, modules: ModuleTable, cell: Cell) -> None:
        super().__init__(cell, modules, SCRIPT)
        self._heap = heap
        self._isolate: Isolate | None = None
        self._prepared: Prepared | None = None
        self._interrupted = self._polling = False
        self._gone = False  # its heap was abandoned, and all of its effects are undone
        self._completed = False
        self._hear: Callable[[str], None] | None = None
        self._room = heap.limits.console_chars  # for delivered output

    # -- the protocol ----------------------------------------------------------------------

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        try:
            return self._poll(now, cpu_seconds)
        except TooManyAbandoned as error:
            self._heap.never_ran()
            why = f"no code of the cell ran: {error}"
            return Progress(failure=GuestError("EngineFailure", why))

    def _offered(self) -> BridgeSet:
        return self._heap.bridges

    def _ask(self, *command: Any) -> str | None:
        if self._isolate is None:
            return None
        try:
            return self._isolate.enter("say", json.dumps(command), seconds=MEMBER_SECONDS).text
        except CellTimeout:
            return None

    def _poll(self, now: float, cpu_seconds: float | None) -> Progress:
        if self._interrupted:
            return Progress(exhausted=True)
        begins = self._isolate is None
        preparation = 0.0
        if begins:
            self._heap.begin()
            load(self._cell.source, self._cell.language)
            clock = ThreadClock(cpu_seconds, lambda: self._interrupted)
            try:
                command = self._begin(now * 1000, clock)
            except CellTimeout:
                return Progress(exhausted=True, cpu_seconds=max(clock.spent, cpu_seconds or 0.0))
            except SourceError as error:
                self._heap.never_ran()
                self._completed = True
                return attrs.evolve(self._refused(error), cpu_seconds=clock.spent)
            preparation, cpu_seconds = clock.spent, clock.left()
        else:
            command = self._resume(now * 1000)
        isolate = self._isolate or self._take(self._heap.isolate)
        if self._interrupted:  # while the source was made ready
            return Progress(exhausted=True)
        progress = self._entered(isolate, command, cpu_seconds, begins)
        if self._gone:
            return progress  # no caller reads it; the next cell reports the loss
        spent = progress.cpu_seconds + preparation
        notices = (*self._heap.take_notices(), *progress.notices)
        return attrs.evolve(progress, notices=notices, cpu_seconds=spent)

    def abort(self, reason: str) -> Progress:
        if self._kept:
            return Progress()
        isolate = self._isolate
        if isolate is None or self._gone:
            self._heap.never_ran()
            return Progress()  # it never began, or has nothing left to end
        progress = Progress()
        self._heap.changes()
        try:
            answer = isolate.enter("say", '["end"]', seconds=_WIND_DOWN_SECONDS)
            progress = self._progress(answer.text)
            if self._is_overfull(answer, _LEFT_BYTES):
                why = "it left more in memory than the limit allows"
            elif self._importing:
                why = "it left a module half loaded"
            else:
                self._heap.ended(isolate)
                return progress
        except CellTimeout:
            why = "it left endless work behind"
        except (IsolateLost, EngineFailure) as error:
            why = str(error)
        self._heap.reopen()
        failure = GuestError("EngineFailure", f"{UNDONE}: {why}")
        return attrs.evolve(progress, failure=failure, state="undone")

    def listen(self, hear: Callable[[str], None]) -> None:
        if self._isolate is None or self._hear is not None:  # else its output comes at its end
            self._hear = hear

    def interrupt(self) -> None:
        """Keep a poll from beginning, or give up the heap of one that runs.

        V8 cannot be stopped before its initial time limit.
        """
        if self._kept:
            return
        self._interrupted = True
        isolate = self._isolate
        if isolate is not None:
            isolate.leave(lambda: self._polling)

    @property
    def waits(self) -> bool:
        over = self._gone or self._completed or self._interrupted
        return not over and self._isolate is not None and self._heap.holds(self._isolate)

    def _unheard(self) -> None:
        if self._hear is not None:
            self._hear = lambda part: None

    # -- inside ----------------------------------------------------------------------------

    def _entered(
        self, isolate: Isolate, command: list[Any], cpu_seconds: float | None, begins: bool
    ) -> Progress:
        """The progress of a command, also if the heap was lost or its answer is not sound."""
        self._polling = True
        try:
            return self._run(isolate, command, cpu_seconds)
        except IsolateLost as error:
            if self._interrupted:
                return self._leave()
            if begins and self._was_left(error):
                return self._begin_again(command, cpu_seconds)
            return self._lost(isolate, error)
        except EngineFailure as error:
            return self._leave() if self._interrupted else self._lost(isolate, error)
        finally:
            self._polling = False

    def _run(self, isolate: Isolate, command: list[Any], cpu_seconds: float | None) -> Progress:
        """Enter the guest, and enter it again as long as it waits only for a module.

        Raises:
            IsolateLost: Also if the guest keeps more in memory than it may.
        """
        begun = isolate.cpu_seconds
        try:
            answer = isolate.enter(*command, seconds=cpu_seconds)
            progress = self._progress(answer.text)
            for _ in range(_MODULE_STEPS):
                if self._interrupted or not self._waits_for_module(progress):
                    break
                spent = isolate.cpu_seconds - begun
                left = None if cpu_seconds is None else cpu_seconds - spent
                answer = isolate.enter("look", seconds=left)
                progress = _joined(progress, self._progress(answer.text))
        except CellTimeout:
            spent = isolate.cpu_seconds - begun
            return Progress(exhausted=True, cpu_seconds=max(spent, cpu_seconds or 0.0))
        spent = isolate.cpu_seconds - begun
        if self._is_overfull(answer):
            raise OutOfHeap("more than the limit is in use")
        self._completed = self._completed or progress.completion is not None
        if self._completed:
            self._heap.ended(isolate)
        return attrs.evolve(progress, cpu_seconds=spent)

    def _leave(self) -> Progress:
        """The end of a poll that was cancelled while V8 computed; the next cell reports it."""
        self._gone = True
        self._heap.forsake(f"A cancelled cell did not stop: {UNDONE}.")
        return Progress(exhausted=True)

    def _take(self, isolate: Isolate) -> Isolate:
        """Run the cell in this heap."""
        isolate.begin_output(None if self._hear is None else self._heard)
        self._isolate = isolate
        return isolate

    def _was_left(self, error: IsolateLost) -> bool:
        """Whether earlier cells, or the export of values, caused the loss of the heap."""
        limit = self._heap.limits.memory_bytes
        full = limit is not None and self._heap.left_bytes > limit
        return isinstance(error, IsolateGone) or (isinstance(error, OutOfHeap) and full)

    def _begin_again(self, command: list[Any], cpu_seconds: float | None) -> Progress:
        """Run the cell again in a new heap, before any effect of the first run was visible."""
        isolate = self._take(self._heap.replace())
        try:
            return self._run(isolate, command, cpu_seconds)
        except (IsolateLost, EngineFailure) as error:
            return self._lost(isolate, error)

    def _resume(self, now_ms: float) -> list[Any]:
        self._heap.changes()
        command: list[Any] = ["resume", self._resume_command(now_ms)]
        if self._hear is not None and self._isolate is not None:
            self._isolate.begin_output(self._heard)  # the earlier lines are delivered
            command.append(True)
        return command

    def _heard(self, line: str) -> None:
        """Pass on a line of output that is already recorded; called in the isolate's thread."""
        if self._hear is None or self._isolate is None or self._room <= 0:
            return
        kept = line[: self._room]  # as the kernel counts
        self._room -= len(kept) + 1
        self._hear(kept if len(self._isolate.recorded) == 1 else f"\n{kept}")

    def _begin(self, now_ms: float, clock: ThreadClock) -> list[Any]:
        words, about = self._begin_arguments(now_ms, live=self._hear is not None)
        self._prepared = prepared(self._cell.source, self._cell.language, clock)
        return ["begin", json.dumps(["begin", words, {**about, **self._prepared.command()}])]

    def _progress(self, text: str) -> Progress:
        drained = self._drained(text)
        completion = self._completion(drained["completion"])
        return drained_progress(drained, completion, notices=self._notices)

    def _error(self, report: Mapping[str, str], place: Sequence[int] | None) -> GuestError:
        shifts = () if self._prepared is None else self._prepared.shifts
        found = self._faulty(report, place, shifts)
        if found is not None:
            return found
        error = GuestError(report["name"], report["message"], report["stack"])
        return module_fault(error, self._modules) if place is None else error

    def _waits_for_module(self, progress: Progress) -> bool:
        return self._importing and progress.completion is None and not progress.requests

    def _is_overfull(self, answer: GuestAnswer, garbage: int = _GARBAGE_BYTES) -> bool:
        limit = self._heap.limits.memory_bytes
        most = max(answer.heap, answer.buffers)
        return limit is not None and most > limit + garbage

    def _lost(self, isolate: Isolate, error: IsolateLost | EngineFailure) -> Progress:
        """Deliver the guest's output so far, then continue in a new heap."""
        output = "\n".join(isolate.recorded)
        notifications = [Notification("console", {"text": output, "omitted": 0})] if output else []
        self._heap.reopen()
        if isinstance(error, OutOfHeap):
            limit = (self._heap.limits.memory_bytes or 0) // 2**20
            failure = GuestError(
                "OutOfMemory", f"the guest used up its memory limit of {limit} MiB; {UNDONE}"
            )
        elif isinstance(error, EngineFailure):
            failure = GuestError("EngineFailure", f"{error}; {UNDONE}")
        else:
            failure = GuestError("Timeout", f"the guest's heap was abandoned: {error}; {UNDONE}")
        return Progress(notifications=notifications, failure=failure, state="undone")


def _joined(first: Progress, second: Progress) -> Progress:
    return attrs.evolve(
        second,
        notifications=[*first.notifications, *second.notifications],
        requests=[*first.requests, *second.requests],
        cancelled=[*first.cancelled, *second.cancelled],
    )
