"""The residence of a realm: the worker process it lives in, and the state to open it again from."""

from __future__ import annotations

import itertools
import weakref
from concurrent.futures import Executor
from typing import Any, Final, Protocol

import attrs

from interpstack_core import BridgeSet, Engine, EngineFailure, Image, ImageError, Limits
from interpstack_process.connection.frames import Malformed
from interpstack_process.connection.messages import pack_bridges
from interpstack_process.processes.pool import WorkerPool
from interpstack_process.processes.workers import Answer, WorkerDied, WorkerProcess
from interpstack_process.redo import CellInputs, pack_inputs
from interpstack_process.saved_state import SavedState, StateLost, read_saved_state
from interpstack_protocol import to_json

__all__ = ["Residence", "Resident"]

#: Workers that may die one after another before the opening of a realm fails.
_ATTEMPTS: Final = 5
#: Seconds for commands that run no cell, beyond the time of getters that run in them.
_PLAIN_SECONDS: Final = 30.0

#: Wall time to repeat cells, for the CPU time that they took: the machine may be busy elsewhere.
_REDO_FACTOR: Final = 10

_numbers = itertools.count(1)


class Resident(Protocol):
    """A running cell, with its worker, or with the state to continue it in another worker."""

    def place(self) -> WorkerProcess:
        """The worker that the cell runs in.

        Raises:
            WorkerDied: The worker died, and the cell with it.
        """


class Residence:
    """A place in a worker process; another one when that worker has died.

    Args:
        engine: The engine, referenced so that it outlives its realms.
        pool: The pool of worker processes.
        limits: Limits of each cell.
        bridges: Bridges that are offered first.
        saved: The state that the realm starts from.
        repeats: Whether the engine repeats cells from their inputs; see `CellInputs`.

    Attributes:
        number: Number of the realm, unique in this process.
        saved: The newest state that the host has.
        fresh: Whether the realm could be opened from `saved` in its current state.
    """

    def __init__(
        self,
        engine: Engine,
        pool: WorkerPool,
        limits: Limits,
        bridges: BridgeSet,
        saved: SavedState,
        *,
        repeats: bool = False,
    ) -> None:
        self.engine = engine
        self.limits = limits
        self.number = next(_numbers)
        self.saved = saved
        self.repeats = repeats
        self.fresh = False
        #: Notices for the reader of the next cell.
        self._lost: StateLost | None = None
        self._running: Resident | None = None
        self._pool = pool
        self._bridges = bridges
        self._bound: BridgeSet | None = None
        self._opened = False
        self._place: list[WorkerProcess] = []
        weakref.finalize(self, _leave, self._place, self.number).atexit = False

    # -- what is noted ---------------------------------------------------------------------

    def bind(self, bridges: BridgeSet) -> None:
        """Offer other bridges; the next command passes them to the worker."""
        self._bridges = bridges

    def bound(self) -> None:
        """Note that the worker has the current offer."""
        self._bound = self._bridges

    def house(self, running: Resident | None) -> None:
        """Note the cell that runs from now on; `None` for none."""
        self._running = running

    def go_on(self) -> None:
        """Note that the guest is about to change its state."""
        self.fresh = False

    def start_from(self, saved: SavedState) -> None:
        """Take up another state when the realm is opened the next time."""
        self.saved = saved

    def repeat(self, inputs: CellInputs | None) -> None:
        """Note a cell that has ended, whose inputs stand for its changes to the state.

        Args:
            inputs: The inputs; `None` if the engine has undone the cell.
        """
        if inputs is not None:
            self.saved = attrs.evolve(self.saved, since=(*self.saved.since, inputs))
        self.fresh = True

    def current(self) -> SavedState | None:
        """The current state without cells to repeat; `None` if only the worker has it."""
        return self.saved if self.fresh and not self.saved.since else None

    def hold(self, image: Image) -> None:
        """Note the current image; in the middle of a cell, it is of no use here."""
        if self._running is None:
            self.saved, self.fresh = SavedState(image=image), True

    # -- where it lives --------------------------------------------------------------------

    @property
    def worker(self) -> WorkerProcess | None:
        """The worker it was opened in; that may have died since."""
        return self._place[0] if self._place else None

    @property
    def bridges(self) -> BridgeSet:
        """The bridges that are offered now."""
        return self._bridges

    def threads(self, *, begins: bool) -> Executor | None:
        """The threads to wait in for the worker; a realm may move when a cell `begins`."""
        worker = self.worker
        if worker is None or worker.ended or (begins and self._pool.is_idle_beside(worker)):
            return self._pool.threads
        return self._pool.thread_of(worker)

    def attach(self) -> WorkerProcess:
        """The worker it lives in; opened in another one if that has died.

        Raises:
            ImageError: The image of the caller cannot be opened.
            EngineFailure: No worker can open it.
        """
        if self._running is not None:
            return self._attach_running(self._running)
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
        """Drop a state that is lost because of `what`, and return the error to report."""
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

    def _attach_running(self, running: Resident) -> WorkerProcess:
        try:
            return running.place()
        except WorkerDied as death:
            raise EngineFailure(str(death)) from death

    def carry_on(self, paused: SavedState) -> WorkerProcess:
        """Open the state of a cell that waits for the host, so that the cell can continue."""
        self.detach()
        worker = self._open(paused)
        self.fresh = False
        return worker

    def detach(self) -> None:
        """Leave the worker; changes of the guest since its last cell are lost."""
        _leave(self._place, self.number)
        self._place.clear()
        self._bound = None

    def move_from(self, busy: WorkerProcess) -> None:
        """Go to a worker that has nothing to do, if the state can be had there exactly."""
        if not self.fresh or (self.saved.image is None and not self.saved.since):
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
        since, image = state.since, state.image
        bridges = since[0].bridges if since else self._bridges
        command = {"realm": self.number, **_opening(self.limits, bridges, state)}
        seconds = self.plain_seconds + _REDO_FACTOR * sum(one.seconds for one in since)
        worker.ask(command, b"" if image is None else image.data, seconds=seconds)
        self._place[:] = [worker]
        self._bound = since[-1].bridges if since else bridges
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
        """Run a command that changes nothing, or that can be repeated from the last state.

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
    def __init__(self, residence: Residence) -> None:
        self._residence = residence

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        worker = self._residence.worker
        if isinstance(error, Malformed) and worker is not None:
            worker.end(f"was killed because it sent {error}")
            raise WorkerDied(worker.reason, unread=False) from error


def _opening(limits: Limits, bridges: BridgeSet, state: SavedState) -> dict[str, Any]:
    """The command to open a realm, without its number."""
    image = state.image
    return {
        "do": "open",
        "limits": to_json(limits),
        "bridges": pack_bridges(bridges),
        "image": None if image is None else [image.engine, image.base],
        "values": None if state.values is None else dict(state.values),
        "redo": pack_inputs(state.since),
    }


def _leave(place: list[WorkerProcess], number: int) -> None:
    for worker in place:
        worker.leave(number)


def _required(answer: Answer | None) -> Answer:
    if answer is None:
        raise EngineFailure("a command was interrupted without a request to interrupt it")
    return answer
