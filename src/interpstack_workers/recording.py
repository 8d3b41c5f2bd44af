"""The recording of a running cell, from which another worker continues it."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from interpstack import Cell, Image, Progress, Settlement
from interpstack.values import to_json
from interpstack_workers.messages import read_image, read_mark
from interpstack_workers.redo import CellInputs, PollInputs, spare_seconds
from interpstack_workers.residence import Residence
from interpstack_workers.saved_state import SavedRealm
from interpstack_workers.workers import WorkerAnswer

__all__ = ["Recording"]


class Recording:
    """The inputs of a cell while it runs, or an image in its middle and the inputs since.

    Args:
        residence: The place where the cell runs.
        cell: The cell; `None` for one that was running when `suspended` was taken.
        suspended: The image that the realm was opened with.
    """

    def __init__(self, residence: Residence, cell: Cell | None, suspended: Image | None) -> None:
        packed = None if cell is None else to_json(cell)
        self._residence = residence
        self._inputs = CellInputs(packed, residence.bridges, suspended)
        self._before = residence.saved
        self._asked: tuple[float, tuple[Settlement, ...]] = (0.0, ())

    @property
    def has_middle(self) -> bool:
        """Whether the cell is continued from its middle."""
        return self._inputs.middle is not None

    @property
    def spare(self) -> tuple[float | None, float]:
        """CPU seconds up to which the cell is repeated instead of its state being handed over.

        The first number holds in the middle of the cell, the second one at its end.
        """
        if not self._residence.repeats:
            return None, 0.0
        middle = spare_seconds((self._inputs,))
        if self.has_middle:
            return middle, 0.0
        return middle, spare_seconds((*self._before.since, self._inputs))

    def ask(self, now: float, settlements: Sequence[Settlement]) -> None:
        """Note the inputs of a poll that a worker has answered."""
        self._asked = now, tuple(settlements)

    def note(self, answer: WorkerAnswer, progress: Progress) -> None:
        """Note the answer of that poll, which holds no state from after the cell."""
        with self._residence.checking():
            mark = read_mark(answer.message.get("mark"))
            image = answer.message.get("middle")
            middle = None if image is None else read_image(image, answer.attached)
        if middle is not None:
            self._inputs.go_on_from(middle)
            return
        self._inputs.add(PollInputs(*self._asked, mark), progress.cpu_seconds)
        if progress.completion is not None or progress.failure is not None:
            self._residence.repeat(None if progress.state == "undone" else self._inputs)

    def paused(self, *, begun: bool) -> SavedRealm:
        """The state to continue the cell from, in another worker.

        Args:
            begun: Whether it has been polled since the realm was opened.
        """
        middle = self._inputs.middle
        if middle is None:
            return attrs.evolve(self._before, since=(*self._before.since, self._inputs))
        return SavedRealm(image=middle, since=(self._inputs,) if begun else ())
