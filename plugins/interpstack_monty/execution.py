"""The run of one cell: drives Monty from one suspension to the next."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
import pydantic_monty
from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontyComplete, NameLookupSnapshot

from interpstack import (
    Cell,
    Completion,
    EngineFailure,
    Execution,
    GuestError,
    Progress,
    Settlement,
)
from interpstack_monty.cells import prepare
from interpstack_monty.checking import check
from interpstack_monty.errors import describe, is_memory_limit, is_time_limit, thrown
from interpstack_monty.outbox import Outbox
from interpstack_monty.system import answer_system_call
from interpstack_monty.values import clean, to_guest
from interpstack_monty.workers import EMIT, Worker

if TYPE_CHECKING:
    from interpstack_monty.engine import MontyRealm

__all__ = ["MontyExecution"]

#: Said wherever a cell had to be taken back.
UNDONE: Final = "what this cell did to variables is undone"
#: Seconds that an aborted cell may take to wind down before it is undone.
_WIND_DOWN_SECONDS: Final = 0.25
#: Suspensions it may make meanwhile.
_WIND_DOWN_STEPS: Final = 1000
#: Seconds after its time limit in which Monty itself stops the code, and keeps its output.
_GRACE_SECONDS: Final = 0.25


class MontyExecution(Execution):
    """The run of one cell."""

    def __init__(self, realm: MontyRealm, cell: Cell) -> None:
        self._realm = realm
        self._cell = cell
        self._worker: Worker | None = None
        self._at: pydantic_monty.SyncSnapshot | None = None
        self._outbox = Outbox(realm.limits, realm.bridges)
        self._answers: dict[int, Mapping[str, Any]] = {}
        self._errors: list[GuestError] = []
        self._blocked: int | None = None  # the request that `time.sleep` waits for
        self._now = 0.0
        self._spent = 0.0
        self._ended = False
        self._stopped = False  # by `interrupt`

    @classmethod
    def restored(
        cls, realm: MontyRealm, told: Mapping[str, Any], snapshot: bytes
    ) -> MontyExecution:
        """The execution that an image was taken of.

        Raises:
            EngineFailure: The snapshot cannot be opened.
        """
        execution = cls(realm, Cell(source="", name=str(told["cell"])))
        execution._outbox.restore(told)
        execution._blocked = told["blocked"]
        worker = realm.engine.workers.take(realm.limits)
        worker.bound = told["bound"]
        try:
            with worker.watched(_GRACE_SECONDS * 20) as session:
                execution._at = session.load_snapshot(
                    snapshot, print_callback=execution._outbox.print
                )
        except pydantic_monty.MontyError as error:
            worker.release()
            raise EngineFailure(f"the suspended cell cannot be opened: {error}") from error
        execution._worker = worker
        return execution

    # -- the protocol ----------------------------------------------------------------------

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        self._now = now
        if self._ended:
            return Progress()
        if self._worker is None:
            refused = self._checked()
            if refused is not None:
                return self._end(Progress(completion=Completion(error=refused)))
            self._worker = self._realm.open_worker()
        begun = time.perf_counter()
        completion = None
        try:
            with self._worker.watched(self._patience(cpu_seconds)):
                try:
                    self._advance()
                except (pydantic_monty.MontyRuntimeError, pydantic_monty.MontySyntaxError) as error:
                    if is_time_limit(error):
                        return self._exhausted(begun)
                    if is_memory_limit(error):
                        return self._give_up(self._out_of_memory(), begun)
                    completion = Completion(error=self._described(error))
                else:
                    if isinstance(self._at, MontyComplete):
                        completion = self._completion(self._at.output)
                if completion is not None:
                    self._realm.commit(self._worker)
        except pydantic_monty.MontyError as error:
            return self._broken(error, begun)
        spent = time.perf_counter() - begun
        self._spent += spent
        if completion is not None:
            return self._end(Progress(completion=completion, cpu_seconds=spent))
        if cpu_seconds is not None and spent > cpu_seconds:
            return self._exhausted(begun)
        return self._outbox.drained(Progress(cpu_seconds=spent))

    def settle(self, settlements: Sequence[Settlement]) -> None:
        for settlement in settlements:
            call_id = self._outbox.open.pop(settlement.id, None)
            if call_id is None or self._ended:
                continue
            if settlement.error is not None:
                self._errors.append(settlement.error)
                self._answers[call_id] = thrown(settlement.error)
            else:
                value = to_guest(json.loads(settlement.text))
                self._answers[call_id] = {"return_value": value}

    def abort(self, reason: str) -> Progress:
        if self._ended:
            return self._outbox.drained(Progress(), ended=True)
        undone = None
        if self._worker is not None and not self._wound_down():
            undone = GuestError("EngineFailure", UNDONE)
        return self._end(Progress(failure=undone))

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
        if self._worker is None or self._at is None or isinstance(self._at, MontyComplete):
            return {}, b""
        told = {
            "cell": self._cell.name,
            "bound": self._worker.bound,
            "blocked": self._blocked,
            **self._outbox.told(),
        }
        try:
            with self._worker.watched(None):
                return told, self._at.dump()
        except pydantic_monty.MontyError as error:
            raise EngineFailure(f"the cell cannot be suspended: {error}") from error

    def close(self) -> None:
        """Give the worker back; what the cell did is lost."""
        self._ended = True
        if self._worker is not None:
            self._worker.release()
            self._worker = None

    # -- from one suspension to the next ---------------------------------------------------

    def _advance(self) -> None:
        if self._at is None:
            self._at = self._begun()
        while not isinstance(self._at, MontyComplete):
            following = self._step(self._at)
            if following is None:
                return
            self._at = following

    def _begun(self) -> pydantic_monty.SyncSnapshot:
        assert self._worker is not None  # noqa: S101 - set by `poll`
        session = self._worker.session
        session.feed_run(f"__interpstack_seed__({self._cell.seed or 0})")
        shown = max(8192, 2 * self._realm.limits.result_chars)
        source = prepare(clean(self._cell.source), shown)
        return session.feed_start(source, print_callback=self._outbox.print)

    def _step(self, at: pydantic_monty.SyncSnapshot) -> pydantic_monty.SyncSnapshot | None:
        """Go on from a suspension; `None` if that has to wait for the host."""
        if isinstance(at, FutureSnapshot):
            ready = {i: self._answers.pop(i) for i in at.pending_call_ids if i in self._answers}
            return at.resume(ready) if ready else None  # type: ignore[arg-type]
        if isinstance(at, NameLookupSnapshot):
            return at.resume()
        if not isinstance(at, FunctionSnapshot):
            return None
        if self._blocked is not None:
            if self._blocked in self._outbox.open:
                return None
            self._answers.pop(at.call_id, None)
            self._blocked = None
            return at.resume({"return_value": None})
        if at.is_os_function:
            return self._system_call(at)
        if at.function_name == EMIT:
            return at.resume(self._outbox.emit(at.call_id, at.args))
        return at.resume({"exc_type": "NameError", "message": f"name {at.function_name!r}"})

    def _system_call(self, at: FunctionSnapshot) -> pydantic_monty.SyncSnapshot | None:
        name = str(at.function_name)
        if name in ("asyncio.sleep", "time.sleep"):
            answer, request = self._outbox.sleep(at.call_id, at.args)
            if name == "time.sleep" and request is not None:
                self._blocked = request
                return None
            return at.resume(answer)
        answered = answer_system_call(name, at.args, self._now)
        return at.resume_not_handled() if answered is None else at.resume(answered)

    def _patience(self, cpu_seconds: float | None) -> float | None:
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
        if self._realm.running is self:
            self._realm.running = None
        return self._outbox.drained(progress, ended=True)

    def _exhausted(self, begun: float) -> Progress:
        # Monty promises nothing of a session it had to stop, so the cell is undone.
        spent = time.perf_counter() - begun
        self._worker_lost()
        return self._outbox.drained(Progress(exhausted=True, cpu_seconds=spent), ended=True)

    def _worker_lost(self) -> None:
        if self._worker is not None:
            self._worker.killed = True
            self._worker.release()

    def _give_up(self, failure: GuestError, begun: float) -> Progress:
        spent = time.perf_counter() - begun
        return self._end(Progress(failure=failure, cpu_seconds=spent))

    def _broken(self, error: pydantic_monty.MontyError, begun: float) -> Progress:
        worker = self._worker
        if worker is not None and (worker.killed or getattr(error, "timed_out", False)):
            return self._exhausted(begun)
        if isinstance(error, pydantic_monty.MontyRuntimeError) and is_memory_limit(error):
            return self._give_up(self._out_of_memory(), begun)
        why = "the guest's process died"
        if not isinstance(error, pydantic_monty.MontyCrashedError):
            why = str(error).partition("\n")[0][:300]
        return self._give_up(GuestError("EngineFailure", f"{why}; {UNDONE}"), begun)

    def _out_of_memory(self) -> GuestError:
        limit = self._realm.limits.memory_bytes
        allowed = "no more" if limit is None else f"{limit // 2**20} MiB"
        return GuestError("OutOfMemory", f"the guest may use {allowed}; {UNDONE}")

    def _described(self, error: pydantic_monty.MontyError) -> GuestError:
        told = describe(error, self._cell.name, self._errors)
        missing = told.message.partition("'")[2].partition("'")[0]
        why = self._realm.saved.lost.get(missing)
        if told.name == "NameError" and why is not None:
            message = f"Value for {missing!r} was not restored because {why}."
            return attrs.evolve(told, message=message)
        return told

    def _completion(self, output: Any) -> Completion:
        """What the kernel's `show` told; a cell may have put anything in its place."""
        if output is None:
            return Completion(text="None", undefined=True)
        try:
            text, omitted, handle, undefined = output
        except (TypeError, ValueError):
            return Completion(error=GuestError("EngineFailure", "the kernel was replaced"))
        if not isinstance(text, str) or type(omitted) is not int:
            return Completion(error=GuestError("EngineFailure", "the kernel was replaced"))
        room = max(8192, 2 * self._realm.limits.result_chars)
        return Completion(
            text=text[:room],
            omitted_chars=max(0, omitted),
            handle=handle is True,
            undefined=undefined is True,
        )

    def _checked(self) -> GuestError | None:
        realm = self._realm
        if not realm.engine.type_check:
            return None
        return check(realm, clean(self._cell.source), self._cell.name)

    def _wound_down(self) -> bool:
        """End the cell as Ctrl-C would; whether it ended, so that its state can be kept."""
        worker = self._worker
        if worker is None or worker.killed or self._at is None:
            return False
        stop: Any = {"exc_type": "KeyboardInterrupt", "message": "the cell was stopped"}
        try:
            with worker.watched(_WIND_DOWN_SECONDS):
                try:
                    for _ in range(_WIND_DOWN_STEPS):
                        if isinstance(self._at, MontyComplete):
                            break
                        if isinstance(self._at, FutureSnapshot):
                            if not self._at.pending_call_ids:
                                return False
                            first = self._at.pending_call_ids[0]
                            self._at = self._at.resume({first: stop})
                        elif isinstance(self._at, NameLookupSnapshot):
                            self._at = self._at.resume()
                        else:
                            self._at = self._at.resume(stop)
                    else:
                        return False
                except pydantic_monty.MontyRuntimeError as error:
                    if is_time_limit(error) or is_memory_limit(error):
                        return False
                self._realm.commit(worker)
        except pydantic_monty.MontyError:
            return False
        return True
