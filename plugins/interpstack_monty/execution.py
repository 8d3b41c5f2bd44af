"""The run of one cell: drives Monty from one suspension to the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
import pydantic_monty
from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontyComplete, NameLookupSnapshot

from interpstack import Cell, Completion, EngineFailure, Execution, GuestError, Progress, Settlement
from interpstack_monty.cancel import wind_down
from interpstack_monty.crossing.errors import (
    describe,
    fault,
    is_memory_limit,
    is_time_limit,
    syntax_error,
    thrown,
)
from interpstack_monty.crossing.results import UNDONE, completion_of, out_of_memory, shown_chars
from interpstack_monty.crossing.values import answer, clean
from interpstack_monty.emitted import Emitted
from interpstack_monty.preparation.cells import RefusedSource, prepare
from interpstack_monty.preparation.checking import check
from interpstack_monty.preparation.timeouts import OutOfTime, Timeout
from interpstack_monty.system import answer_system_call
from interpstack_monty.workers import EMIT, RESERVED, KernelReplaced, Worker
from interpstack_protocol import GuestClock

if TYPE_CHECKING:
    from interpstack_monty.engine import MontyRealm

__all__ = ["MontyExecution"]

#: Seconds that an aborted cell may take to wind down before it is undone.
_WIND_DOWN_SECONDS: Final = 0.25
#: Seconds that opening a suspended cell may take.
_OPEN_SECONDS: Final = 5.0
#: Seconds after its time limit in which Monty itself stops the code, and keeps its output.
_GRACE_SECONDS: Final = 0.25
#: Share of the time limit that must be used up before Monty is believed that it is: its clock
#: and that of this process differ a little.
_BELIEVED: Final = 0.95
#: Names of bridges that are told when a cell gave them other values.
_TAKEN: Final = 5


class MontyExecution(Execution):
    """The run of one cell."""

    def __init__(self, realm: MontyRealm, cell: Cell) -> None:
        self._realm = realm
        self._cell = cell
        self._before = realm.saved
        self._worker: Worker | None = None
        self._at: pydantic_monty.SyncSnapshot | None = None
        self._emitted = Emitted(realm.limits, realm.bridges)
        self._answers: dict[int, Any] = {}
        self._errors: list[GuestError] = []
        self._parked = b""  # the suspended cell, while it has no worker
        self._bound = ""
        self._blocked: int | None = None  # the request that `time.sleep` waits for
        self._clock = GuestClock()
        self._spent = 0.0
        self._turn_began = 0.0  # in the worker, by `time.perf_counter`
        self._source = ""  # as Monty gets it
        self._lines = len(cell.source.splitlines())
        self._ended = False
        self._stopped = False  # by `interrupt`

    @classmethod
    def restored(
        cls, realm: MontyRealm, told: Mapping[str, Any], snapshot: bytes
    ) -> MontyExecution:
        """The execution that an image was taken of."""
        execution = cls(realm, Cell(source="", name=str(told["cell"])))
        execution._emitted.restore(told)
        execution._blocked = told["blocked"]
        execution._parked = snapshot
        execution._bound = told["bound"]
        execution._spent = told["spent"]
        execution._lines = told["lines"]
        execution._clock = GuestClock(*told.get("clock", ()))
        return execution

    # -- the protocol ----------------------------------------------------------------------

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        self._clock.tell(now)
        if self._ended:
            return Progress()
        if self._parked:
            self._unpark()
        prepared = 0.0
        if self._worker is None:
            timeout = Timeout(cpu_seconds, lambda: self._stopped)
            ended = self._begin(timeout)
            if ended is not None:
                return ended
            prepared, cpu_seconds = timeout.spent, timeout.left()
        assert self._worker is not None  # noqa: S101 - set above
        begun = self._turn_began = time.perf_counter()
        end = None if cpu_seconds is None else begun + cpu_seconds
        try:
            with self._worker.watched(self._timeout(cpu_seconds)):
                completion = self._run(end)
                if completion is not None:
                    self._commit(self._worker)
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
        if self._realm.engine.workers.crowded:
            self._park()
        return self._emitted.drained(Progress(cpu_seconds=spent))

    def settle(self, settlements: Sequence[Settlement]) -> None:
        for settlement in settlements:
            call_id = self._emitted.open.pop(settlement.id, None)
            if call_id is None or self._ended:
                continue
            if settlement.error is not None:
                self._errors.append(settlement.error)
                self._answers[call_id] = thrown(settlement.error)
            else:
                self._answers[call_id] = {"return_value": answer(settlement.text)}

    def abort(self, reason: str) -> Progress:
        if self._ended:
            return self._emitted.drained(Progress(), ended=True)
        undone = None
        if self._parked:
            self._unpark()
        if self._worker is not None and not self._wound_down():
            undone = GuestError("EngineFailure", UNDONE)
        return self._end(Progress(failure=undone, state="kept" if undone is None else "undone"))

    def undo(self) -> None:
        self._realm.go_back(self._before)

    def listen(self, hear: Callable[[str], None]) -> None:
        self._emitted.listen(hear)

    def interrupt(self) -> None:
        self._stopped = True
        worker = self._worker
        if worker is not None:
            worker.kill()

    # -- for the realm ---------------------------------------------------------------------

    def suspend(self) -> tuple[Mapping[str, Any], bytes]:
        """What is known of the cell, and Monty's dump of it; nothing if it has not begun.

        Raises:
            EngineFailure: It cannot be dumped.
        """
        told = {
            "cell": self._cell.name,
            "blocked": self._blocked,
            "spent": self._spent,
            "lines": self._lines,
            "clock": [self._clock.time, self._clock.host],
            **self._emitted.told(),
        }
        if self._parked:
            return {**told, "bound": self._bound}, self._parked
        if self._worker is None or self._at is None or isinstance(self._at, MontyComplete):
            return {}, b""
        try:
            with self._worker.watched(None):
                return {**told, "bound": self._worker.bound}, self._at.dump()
        except pydantic_monty.MontyError as error:
            raise EngineFailure(f"the cell cannot be suspended: {error}") from error

    def close(self) -> None:
        """Give the worker back; what the cell did is lost."""
        self._ended = True
        if self._worker is not None:
            self._worker.release()
            self._worker = None

    def _park(self) -> None:
        """Give the worker back while the cell waits for the host."""
        assert self._worker is not None  # noqa: S101 - the caller has just used it
        told, self._parked = self.suspend()
        self._bound = told["bound"]
        self._worker.release()
        self._worker = self._at = None

    def _unpark(self) -> None:
        worker = self._realm.engine.workers.take(self._realm.limits)
        worker.bound = self._bound
        try:
            with worker.watched(_OPEN_SECONDS) as session:
                self._at = session.load_snapshot(self._parked, print_callback=self._emitted.print)
        except pydantic_monty.MontyError as error:
            worker.release()
            raise EngineFailure(f"the suspended cell cannot be opened: {error}") from error
        self._worker, self._parked = worker, b""

    # -- from one suspension to the next ---------------------------------------------------

    def _run(self, end: float | None) -> Completion | None:
        """Go on until the cell has ended, waits for the host, or the time is up.

        Monty's own clock stands still while it waits for an answer, so a guest that only asks
        has to be stopped here.

        Args:
            end: When the time is up, by `time.perf_counter`.

        Raises:
            MontyError: It had to be stopped; an error of its own is a completion.
            KernelReplaced: It could not begin.
        """
        assert self._worker is not None  # noqa: S101 - set by `poll`
        if self._at is None:
            self._worker.run(f"__interpstack_seed__({self._cell.seed or 0})")
        try:
            if self._at is None:
                session = self._worker.session
                self._at = session.feed_start(self._source, print_callback=self._emitted.print)
            while not isinstance(self._at, MontyComplete):
                if end is not None and time.perf_counter() > end:
                    return None
                following = self._step(self._at)
                if following is None:
                    return None
                self._at = following
        except (pydantic_monty.MontyRuntimeError, pydantic_monty.MontySyntaxError) as error:
            if self._given_up(error):
                raise
            return Completion(error=self._described(error))
        return completion_of(self._at.output, shown_chars(self._realm.limits))

    def _step(self, at: pydantic_monty.SyncSnapshot) -> pydantic_monty.SyncSnapshot | None:
        """Go on from a suspension; `None` if that has to wait for the host."""
        if isinstance(at, FutureSnapshot):
            # One by one, in the order of the answers: of several at once, Monty picks any first.
            first = next((i for i in self._answers if i in at.pending_call_ids), None)
            return None if first is None else at.resume({first: self._answers.pop(first)})
        if isinstance(at, NameLookupSnapshot):
            return at.resume()
        if not isinstance(at, FunctionSnapshot):
            return None
        if self._blocked is not None:
            if self._blocked in self._emitted.open:
                return None
            self._answers.pop(at.call_id, None)
            self._blocked = None
            return at.resume({"return_value": None})
        if at.is_os_function:
            return self._system_call(at)
        if at.function_name == EMIT:
            return at.resume(self._emitted.emit(at.call_id, at.args))
        return at.resume(
            {"exc_type": "NameError", "message": f"name {at.function_name!r} is not defined"}
        )

    def _system_call(self, at: FunctionSnapshot) -> pydantic_monty.SyncSnapshot | None:
        name = str(at.function_name)
        if name in ("asyncio.sleep", "time.sleep"):
            answer, request = self._emitted.sleep(at.call_id, at.args)
            if name == "time.sleep" and request is not None:
                self._blocked = request
                return None
            return at.resume(answer)
        answered = answer_system_call(name, at.args, self._clock)
        return at.resume_not_handled() if answered is None else at.resume(answered)

    def _timeout(self, cpu_seconds: float | None) -> float | None:
        """Seconds after which to kill the worker; `None` where Monty's own limit comes first."""
        if self._stopped:
            return 0.0
        limit = self._realm.limits.cpu_seconds
        if cpu_seconds is None or (limit is not None and cpu_seconds > limit - self._spent - 0.1):
            return None
        return cpu_seconds + _GRACE_SECONDS

    # -- ends ------------------------------------------------------------------------------

    def _end(self, progress: Progress) -> Progress:
        self.close()
        self._at = None
        self._realm.ended(self)
        return self._emitted.drained(progress, ended=True)

    def _exhausted(self, spent: float) -> Progress:
        # Monty promises nothing of a session it had to stop, so the cell is undone.
        if self._worker is not None:
            self._worker.killed = True
            self._worker.release()
        return self._emitted.drained(Progress(exhausted=True, cpu_seconds=spent), ended=True)

    def _given_up(self, error: Exception) -> bool:
        """Whether Monty stopped the cell; the cell itself may raise the same error."""
        return is_memory_limit(error) or self._out_of_time(error)

    def _out_of_time(self, error: Exception) -> bool:
        limit = self._realm.limits.cpu_seconds
        if limit is None or not is_time_limit(error):
            return False
        return self._spent + time.perf_counter() - self._turn_began >= _BELIEVED * limit

    def _stopped_by(self, error: Exception, spent: float) -> Progress:
        """How a cell ended that Monty stopped, or whose process died."""
        assert self._worker is not None  # noqa: S101 - it has just been used
        killed = self._worker.killed or getattr(error, "timed_out", False)
        if killed or self._out_of_time(error):
            return self._exhausted(spent)
        if is_memory_limit(error):
            failure = out_of_memory(self._realm.limits)
        elif isinstance(error, pydantic_monty.MontyCrashedError):
            failure = GuestError("EngineFailure", f"the guest's process died; {UNDONE}")
        else:
            why = str(error).partition("\n")[0][:300]
            failure = GuestError("EngineFailure", f"{why}; {UNDONE}")
        return self._end(Progress(failure=failure, state="undone", cpu_seconds=spent))

    def _described(self, error: pydantic_monty.MontyError) -> GuestError:
        told = describe(error, self._cell.name, self._errors, self._lines)
        missing = told.message.partition("'")[2].partition("'")[0]
        why = self._realm.saved.lost.get(missing)
        if told.name == "NameError" and why is not None:
            message = f"Value for {missing!r} was not restored because {why}."
            return attrs.evolve(told, message=message)
        return attrs.evolve(told, place=fault(error, self._cell.source))

    def _commit(self, worker: Worker) -> None:
        """Keep the state; the reader is told of what is not kept."""
        taken = self._realm.commit(worker)
        for name in taken[:_TAKEN]:
            self._emitted.note(
                f"{name} is the name of a bridge; what the cell assigned to it ends with the cell"
            )

    def _begin(self, timeout: Timeout) -> Progress | None:
        """Prepare the cell and take a worker for it; how it ends if it cannot be run."""
        try:
            refused = self._prepared(timeout)
        except OutOfTime:
            return self._exhausted(timeout.spent)
        if refused is not None:
            completion = Completion(error=refused)
            return self._end(Progress(completion=completion, cpu_seconds=timeout.spent))
        self._worker = self._realm.open_worker()
        return None

    def _prepared(self, timeout: Timeout) -> GuestError | None:
        """Make the source ready; why it cannot be run, if that is certain."""
        realm = self._realm
        if RESERVED in self._cell.source:
            return GuestError("NameError", f"names that begin with {RESERVED!r} are reserved")
        source = clean(self._cell.source)
        try:
            name = self._cell.value_name
            self._source = prepare(source, shown_chars(realm.limits), name, timeout.check)
        except RefusedSource as error:
            return syntax_error(str(error), self._cell.name, error.line)
        if not realm.engine.type_check:
            return None
        return check(realm, source, self._cell.name)

    def _wound_down(self) -> bool:
        """End the cell; whether that went well, so that its state can be kept."""
        worker = self._worker
        if worker is None or worker.killed or self._at is None:
            return False
        self._turn_began = time.perf_counter()
        try:
            with worker.watched(_WIND_DOWN_SECONDS):
                if not wind_down(self._at, self._given_up):
                    return False
                self._commit(worker)
        except (pydantic_monty.MontyError, KernelReplaced):
            return False
        return True
