"""A realm in a worker process, with the state from which the host can open it again."""

from __future__ import annotations

import itertools
import json
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from interpstack import (
    BridgeSet,
    Capability,
    Cell,
    ConfigurationError,
    EngineFailure,
    Execution,
    Image,
    ImageError,
    Limits,
    Realm,
)
from interpstack_process.connection.frames import Malformed
from interpstack_process.connection.messages import (
    pack_bridges,
    read_image,
    read_names,
    read_values,
)
from interpstack_process.execution import ProcessExecution
from interpstack_process.processes.workers import Answer, WorkerDied, WorkerProcess
from interpstack_process.saved_state import SavedState, StateLost, read_saved_state
from interpstack_protocol import to_json

if TYPE_CHECKING:
    from interpstack_process.engine import ProcessEngine
    from interpstack_process.processes.pool import WorkerPool

__all__ = ["ProcessRealm"]

#: Workers that may die one after another before the opening of a realm fails.
_ATTEMPTS: Final = 5
#: Seconds for commands that run no cell, beyond the time of getters that run in them.
_PLAIN_SECONDS: Final = 30.0

_numbers = itertools.count(1)


class ProcessRealm(Realm):
    """A realm in a worker process, opened in another one when that has died.

    Args:
        engine: The engine, referenced so that it outlives its realms.
        pool: Where workers come from.
        limits: Of each cell.
        bridges: The first bridges on offer.
        saved: The state that the realm starts from.
    """

    def __init__(
        self,
        engine: ProcessEngine,
        pool: WorkerPool,
        limits: Limits,
        bridges: BridgeSet,
        saved: SavedState,
    ) -> None:
        self.engine = engine
        self.limits = limits
        self.number = next(_numbers)
        self.saved = saved
        #: Whether `saved` equals the current state of the guest.
        self.fresh = False
        #: Notices for the reader of the next cell.
        self._lost: StateLost | None = None
        self.running: ProcessExecution | None = None
        self._pool = pool
        self._bridges = bridges
        self._bound: BridgeSet | None = None
        self._opened = False
        self._opened_with = saved.image
        self._place: list[WorkerProcess] = []
        weakref.finalize(self, _leave, self._place, self.number).atexit = False

    # -- the protocol ----------------------------------------------------------------------

    def bind(self, bridges: BridgeSet) -> None:
        self._bridges = bridges  # sent with the next command

    def start(self, cell: Cell) -> Execution:
        self.running = None
        return ProcessExecution(self, cell)

    def resume(self, before: Image | None = None) -> Execution:
        if self.saved.image is None or self._opened_with is not self.saved.image:
            raise ConfigurationError("no cell was running when this realm was opened")
        suspended = self.saved.image
        if before is not None:
            self.saved = SavedState(image=before)
        self.fresh = False
        self.running = ProcessExecution(self, None, suspended=suspended, before=before)
        return self.running

    def image(self) -> Image:
        if Capability.IMAGES not in self.engine.capabilities:
            return super().image()
        if self.fresh and self.saved.image is not None:
            return self.saved.image
        answer = self.ask("image")
        with self.checking():
            return read_image(answer.message.get("done"), answer.attached)

    def values(self) -> Mapping[str, Any]:
        if Capability.VALUES not in self.engine.capabilities:
            return super().values()
        if self.fresh and self.saved.values is not None:
            return self.saved.values
        answer = self.ask("values")
        with self.checking():
            return read_values(answer.message.get("done"))

    def names(self) -> Sequence[str]:
        answer = self.ask("names")
        with self.checking():
            return read_names(answer.message.get("done"))

    def members(self, path: Sequence[str]) -> Sequence[str]:
        answer = self.ask("members", json.dumps(list(path)).encode())
        with self.checking():
            return read_names(answer.message.get("done"))

    def load(self, values: Mapping[str, Any]) -> None:
        if Capability.VALUES not in self.engine.capabilities:
            return super().load(values)
        self.keep(self.ask("load", json.dumps(dict(values)).encode()))
        return None

    def close(self) -> None:
        worker = self.worker
        self.detach()
        if worker is not None and not worker.busy:
            with suppress(WorkerDied, EngineFailure):  # then it is freed anyway
                worker.ask({"do": "leave", "realm": self.number}, seconds=self.plain_seconds)

    # -- where it lives --------------------------------------------------------------------

    @property
    def worker(self) -> WorkerProcess | None:
        """The worker it was opened in; that may have died since."""
        return self._place[0] if self._place else None

    def attach(self) -> WorkerProcess:
        """The worker it lives in; opened in another one if that has died.

        Raises:
            ImageError: The image of the caller cannot be opened.
            EngineFailure: No worker can open it.
        """
        if self.running is not None:
            return self._attach_running(self.running)
        worker = self.worker
        if worker is not None and not worker.ended:
            return worker
        self.detach()
        if self.saved.lost:
            self._lost = self.start_anew("the worker process died")
        try:
            return self._open(self.saved)
        except ImageError as error:
            if not self._opened:
                raise
            self.saved = SavedState(lost=str(error))
            self._lost = self.start_anew("the worker process died")
            return self._open(self.saved)

    def start_anew(self, what: str) -> StateLost:
        """Forget a state that is lost because of `what`, and return the error to report."""
        lost = StateLost(what, self.saved.told())
        self.saved = SavedState()
        return lost

    def check_lost(self) -> None:
        """Tell once that the state was lost.

        Raises:
            StateLost: The state was lost, and no cell has reported the loss.
        """
        lost, self._lost = self._lost, None
        if lost is not None:
            raise lost

    def _attach_running(self, running: ProcessExecution) -> WorkerProcess:
        try:
            return running.place()
        except WorkerDied as death:
            raise EngineFailure(str(death)) from death

    def carry_on(self, paused: Image) -> WorkerProcess:
        """Open the state of a cell that waits for the host, so that the cell can continue."""
        self.detach()
        worker = self._open(SavedState(image=paused))
        self.fresh = False
        return worker

    def detach(self) -> None:
        """Leave the worker; changes of the guest since its last cell are lost."""
        _leave(self._place, self.number)
        self._place.clear()
        self._bound = None

    def move_from(self, busy: WorkerProcess) -> None:
        """Go to a worker that has nothing to do, if the state can be had there exactly."""
        if not self.fresh or self.saved.image is None:
            return
        other = self._pool.place_idle(self.number, busy)
        if other is None:
            return
        self.detach()
        try:
            self._open_in(other, self.saved)
        except (WorkerDied, ImageError):
            other.leave(self.number)  # `attach` will find a place

    def _open(self, state: SavedState) -> WorkerProcess:
        for attempt in range(_ATTEMPTS):
            worker = self._pool.place(self.number)
            try:
                self._open_in(worker, state)
            except WorkerDied as death:
                worker.leave(self.number)
                if attempt == _ATTEMPTS - 1:
                    raise EngineFailure(f"no worker process can open the state: {death}") from death
            except BaseException:
                worker.leave(self.number)
                raise
            else:
                return worker
        raise AssertionError("the loop returns or raises")

    def _open_in(self, worker: WorkerProcess, state: SavedState) -> None:
        bridges, image = self._bridges, state.image
        command = {
            "do": "open",
            "realm": self.number,
            "limits": to_json(self.limits),
            "bridges": pack_bridges(bridges),
            "image": None if image is None else [image.engine, image.base],
            "values": None if state.values is None else dict(state.values),
        }
        worker.ask(command, b"" if image is None else image.data, seconds=self.plain_seconds)
        self._place[:] = [worker]
        self._bound = bridges
        self._opened = True
        self.fresh = state.there

    # -- asking ----------------------------------------------------------------------------

    @property
    def plain_seconds(self) -> float:
        """The time limit of a command that runs no cell."""
        return (self.limits.cpu_seconds or 0.0) + _PLAIN_SECONDS

    def command(self, do: str, **fields: Any) -> dict[str, Any]:
        """A command to the worker the realm lives in, with the bridges if they have changed."""
        bridges = None if self._bound is self._bridges else pack_bridges(self._bridges)
        return {"do": do, "realm": self.number, "bridges": bridges, **fields}

    def ask(self, do: str, attached: bytes = b"") -> Answer:
        """Have something done that changes nothing, or can be done again from the last state.

        Raises:
            EngineFailure: The worker died of it.
        """
        for _ in range(_ATTEMPTS):
            worker = self.attach()
            try:
                answer = worker.ask(self.command(do), attached, seconds=self.plain_seconds)
            except WorkerDied as death:
                if not death.unread:
                    raise EngineFailure(f"{death}; {self.saved.told()}") from death
            else:
                self.bound()
                return _required(answer)
        raise EngineFailure("no worker process stays alive")

    def bound(self) -> None:
        """Note that the worker has the current offer."""
        self._bound = self._bridges

    def keep(self, answer: Answer) -> None:
        """Note the state that came with an answer.

        Raises:
            EngineFailure: It is none, and the worker was killed.
        """
        with self.checking():
            told = answer.message.get("kept")
            if told is None:
                return
            self.saved = read_saved_state(told, answer.attached)
            self.fresh = True

    def checking(self) -> _Checking:
        """A block that reads the worker's data, and kills the worker if the data is malformed."""
        return _Checking(self)


class _Checking:
    def __init__(self, realm: ProcessRealm) -> None:
        self._realm = realm

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        worker = self._realm.worker
        if isinstance(error, Malformed) and worker is not None:
            worker.end(f"was killed because it sent {error}")
            raise WorkerDied(worker.reason, unread=False) from error


def _leave(place: list[WorkerProcess], number: int) -> None:
    for worker in place:
        worker.leave(number)


def _required(answer: Answer | None) -> Answer:
    if answer is None:
        raise EngineFailure("a command that nobody interrupts was interrupted")
    return answer
