"""Inputs of cells, from which a deterministic engine repeats them in another worker.

To hand over a guest's state takes longer than most cells. So the host records the inputs of
cells instead: if their worker dies, another worker opens the last state and repeats them, without
any of their calls. The state is handed over when repeating would take too long.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs

from interpstack import BridgeSet, Image, Settlement
from interpstack_workers.messages import pack_bridges, pack_settlements

__all__ = ["CellInputs", "mark_of", "pack_inputs", "spare_seconds"]

#: What may have to be repeated: cells, seconds of computing, characters of answers and sources.
_MOST_CELLS: Final = 32
_MOST_SECONDS: Final = 0.1
_MOST_CHARS: Final = 2**20


@attrs.frozen
class PollInputs:
    """The inputs of one poll, and the mark of its progress."""

    now: float
    settlements: tuple[Settlement, ...]
    mark: int


@attrs.define(eq=False)
class CellInputs:
    """The inputs of one cell, poll by poll.

    Attributes:
        cell: The cell, in JSON form.
        bridges: The bridges that it was offered.
        middle: The image in the middle of the cell from which the polls count; `None` for its
            start.
        seconds: CPU time of the polls.
    """

    cell: Any
    bridges: BridgeSet
    middle: Image | None = None
    seconds: float = 0.0
    chars: int = attrs.field(default=0, init=False)
    _polls: list[PollInputs] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.chars = 0 if self.cell is None else len(self.cell["source"])

    def add(self, poll: PollInputs, seconds: float) -> None:
        """Note a poll that the worker has answered."""
        self._polls.append(poll)
        self.seconds += seconds
        self.chars += sum(map(_chars, poll.settlements))

    def go_on_from(self, middle: Image) -> None:
        """Begin anew with an image taken after the last poll."""
        self.middle, self.seconds, self.chars = middle, 0.0, 0
        self._polls.clear()

    def pack(self) -> dict[str, Any]:
        """The message to repeat the polls."""
        return {
            "cell": None if self.middle is not None else self.cell,
            "bridges": pack_bridges(self.bridges),
            "polls": [[p.now, pack_settlements(p.settlements), p.mark] for p in self._polls],
        }


def _chars(settlement: Settlement) -> int:
    return len(settlement.text or "") + sum(map(len, settlement.modules.values())) + 100


def spare_seconds(inputs: Sequence[CellInputs]) -> float:
    """CPU time that the next poll may add to what would be repeated; 0 if nothing more may."""
    if len(inputs) > _MOST_CELLS or sum(one.chars for one in inputs) > _MOST_CHARS:
        return 0.0
    return max(0.0, _MOST_SECONDS - sum(one.seconds for one in inputs))


def pack_inputs(inputs: Iterable[CellInputs]) -> list[dict[str, Any]]:
    """The message to repeat cells, one after another."""
    return [one.pack() for one in inputs]


def mark_of(progress: Any) -> int:
    """A checksum of a progress in JSON form, without its CPU time, which varies."""
    return zlib.crc32(repr([v for k, v in progress.items() if k != "cpu_seconds"]).encode())
