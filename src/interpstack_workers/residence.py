"""The residence of a realm: the worker it lives in, and the state to open it again from."""

from __future__ import annotations

import itertools
import weakref
from typing import Any, Final, Protocol

from interpstack import BridgeSet, Engine, EngineFailure, Image, ImageError, Limits
from interpstack.values import to_json
from interpstack_workers.messages import pack_bridges
from interpstack_workers.redo import pack_inputs
from interpstack_workers.saved_state import SavedRealm, StateNotes, read_saved_state
from interpstack_workers.workers import (
    Command,
    MalformedMessage,
    Pool,
    Worker,
    WorkerAnswer,
    WorkerDied,
)

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

    def place(self) -> Worker:
        """The worker that the cell runs in.

        Raises:
            WorkerDied: The worker died, and the cell with it.
        """


class Residence(StateNotes):
    """The place of a realm in a worker, or in another worker when that one has died.

    Args:
        engine: The engine, referenced so that it outlives its realms.
        pool: The pool of workers.
        limits: Limits of each cell.
        bridges: Bridges that are offered first.
        saved: The state that the realm starts from.
        repeats: Whether the engine repeats cells from their inputs; see `CellInputs`.

    Attributes:
        number: Number of the realm, unique in this process. Each opening has its own, so that a
            worker refuses commands for an earlier one.
        key: Key of the session, for pools that place by it; empty if unknown.
        saved: The newest state that the host has.
        fresh: Whether the realm could be opened from `saved` in its current state.
    """

    def __init__(
        self,
        engine: Engine,
        pool: Pool,
        limits: Limits,
        bridges: BridgeSet,
        saved: SavedRealm,
        *,
        repeats: bool = False,
    ) -> None:
        self.engine = engine
        self.limits = limits
        self.number = next(_numbers)
        super().__init__(saved)
        self.repeats = repeats
        self.key = ""
        self._running: Resident | None = None
        self.pool = pool
        self._bridges = bridges
        self._bound: BridgeSet | None = None
        self._opened = False
        self._place: list[tuple[Worker, int]] = []
        weakref.finalize(self, _leave, self._place).atexit = False

    # -- what is noted ---------------------------------------------------------------------

    def bind(self, bridges: BridgeSet) -> None:
        """Offer other bridges; the next command passes them to the worker."""
        self._bridges = bridges

    def bound(self) -> None:
        """Note that the worker has the current offer."""
        self._bound = self._bridges

    def place_by(self, key: str) -> None:
        """Note the key of the session, by which the pool may place the realm."""
        self.key = key

    def house(self, running: Resident | None) -> None:
        """Note the cell that runs from now on; `None` for none."""
        self._running = running
        for worker, number in self._place:
            (worker.cells.discard if running is None else worker.cells.add)(number)

    def hold(self, image: Image) -> None:
        """Note the current image; in the middle of a cell, it is of no use here."""
        if self._running is None:
            self.saved, self.fresh = SavedRealm(image=image), True

    # -- where it lives --------------------------------------------------------------------

    @property
    def worker(self) -> Worker | None:
        """The worker in which the realm was opened, which may have died since."""
        return self._place[0][0] if self._place else None

    @property
    def bridges(self) -> BridgeSet:
        """The bridges that are offered now."""
        return self._bridges

    def staying(self) -> Worker | None:
        """The worker in which a cell can begin at once; `None` if one is to be found first.

        Raises:
            StateLost: The state was lost in it.
        """
        worker = self.worker
        if worker is None or worker.ended or self._running is not None:
            return None
        if not self.pool.stays(worker):
            return None
        self.check_lost()
        return worker

    def attach(self) -> Worker:
        """The worker of the realm; if that has died, the realm is opened in another one.

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
            self.start_anew_after(f"the {self.pool.title} died")
        try:
            return self._open(self.saved)
        except ImageError as error:
            if not self._opened:
                raise
            self.saved = SavedRealm(lost=str(error))
            self.start_anew_after(f"the {self.pool.title} died")
            return self._open(self.saved)

    def _attach_running(self, running: Resident) -> Worker:
        try:
            return running.place()
        except WorkerDied as death:
            raise EngineFailure(str(death)) from death

    def carry_on(self, paused: SavedRealm) -> Worker:
        """Open the state of a cell that waits for the host, so that the cell can continue."""
        self.detach()
        worker = self._open(paused)
        self.fresh = False
        worker.cells.add(self.number)
        return worker

    def detach(self) -> None:
        """Leave the worker; changes of the guest since its last cell are lost."""
        if self._place:
            _leave(self._place)
            self.number = next(_numbers)
        self._bound = None

    def move_from(self, worker: Worker) -> None:
        """Move to a better worker, if there is one in which the state can be opened exactly."""
        if not self.portable:
            return
        before, self.number = self.number, next(_numbers)
        other = self.pool.place_instead(self.number, worker)
        if other is None:
            self.number = before
            return
        _leave(self._place)
        self._bound = None
        try:
            self._open_in(other, self.saved)
        except (WorkerDied, ImageError):
            self._left(other)  # `attach` will find a place

    def _open(self, state: SavedRealm) -> Worker:
        for attempt in range(_ATTEMPTS):
            worker = self.pool.place(self.number, self.key)
            try:
                self._open_in(worker, state)
            except WorkerDied as death:
                self._left(worker)
                if attempt == _ATTEMPTS - 1:
                    what = f"no {self.pool.title} can open the state"
                    raise EngineFailure(f"{what}: {death}") from death
            except BaseException:
                self._left(worker)
                raise
            else:
                return worker
        raise AssertionError("the loop returns or raises")

    def _left(self, worker: Worker) -> None:
        """Give up an opening that failed; the next one has another number."""
        worker.leave(self.number)
        self.number = next(_numbers)

    def _open_in(self, worker: Worker, state: SavedRealm) -> None:
        since, image = state.since, state.image
        bridges = since[0].bridges if since else self._bridges
        message = {"realm": self.number, **_opening(self.limits, bridges, state)}
        seconds = self.plain_seconds + _REDO_FACTOR * sum(one.seconds for one in since)
        worker.ask(Command(message, b"" if image is None else image.data, seconds=seconds))
        self._place[:] = [(worker, self.number)]
        self._bound = since[-1].bridges if since else bridges
        self._opened = True
        self.fresh = state.there

    # -- asking ----------------------------------------------------------------------------

    @property
    def plain_seconds(self) -> float:
        """The time limit of a command that runs no cell."""
        return (self.limits.cpu_seconds or 0.0) + _PLAIN_SECONDS

    def message(self, do: str, **fields: Any) -> dict[str, Any]:
        """The message of a command to the realm's worker, with the bridges if they have changed."""
        bridges = None if self._bound is self._bridges else pack_bridges(self._bridges)
        return {"do": do, "realm": self.number, "bridges": bridges, **fields}

    def ask(self, do: str, attached: bytes = b"") -> WorkerAnswer:
        """Run a command that changes nothing, or that can be repeated from the last state.

        Raises:
            EngineFailure: The worker died of it.
        """
        for _ in range(_ATTEMPTS):
            worker = self.attach()
            command = Command(self.message(do), attached, seconds=self.plain_seconds)
            try:
                answer = worker.ask(command)
            except WorkerDied as death:
                if not death.unread:
                    raise EngineFailure(f"{death}; {self.saved.described()}") from death
            else:
                self.bound()
                return _required(answer)
        raise EngineFailure(f"no {self.pool.title} stays alive")

    def keep(self, answer: WorkerAnswer) -> None:
        """Note the state that came with an answer.

        Raises:
            EngineFailure: The answer has no valid state, and the worker was killed.
        """
        with self.checking():
            kept = answer.message.get("kept")
            if kept is None:
                return
            self.saved = read_saved_state(kept, answer.attached)
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
        if isinstance(error, MalformedMessage) and worker is not None:
            worker.end(f"was killed because it sent {error}")
            raise WorkerDied(worker.reason, unread=False) from error


def _opening(limits: Limits, bridges: BridgeSet, state: SavedRealm) -> dict[str, Any]:
    """The message of the command to open a realm, without its number."""
    image = state.image
    return {
        "do": "open",
        "limits": to_json(limits),
        "bridges": pack_bridges(bridges),
        "image": None if image is None else [image.engine, image.base],
        "values": None if state.values is None else dict(state.values),
        "redo": pack_inputs(state.since),
    }


def _leave(place: list[tuple[Worker, int]]) -> None:
    for worker, number in place:
        worker.leave(number)
    place.clear()


def _required(answer: WorkerAnswer | None) -> WorkerAnswer:
    if answer is None:
        raise EngineFailure("a command was interrupted without a request to interrupt it")
    return answer
