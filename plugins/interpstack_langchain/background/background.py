"""The cells in the background of one interpreter."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

import attrs

from interpstack_langchain.background.background_stores import BackgroundStore, Images
from interpstack_langchain.background.cell_locks import CellLocks
from interpstack_langchain.background.cell_records import CellRecord
from interpstack_langchain.background.terminations import Terminations
from interpstack_langchain.durability.checkpoint_writes import CheckpointWrites, eval_key

__all__ = ["Background"]

#: Messages whose cells are remembered, since the state of their step does not show them.
_MAX_RECENT: Final = 1024


@attrs.define(eq=False, repr=False)
class Background:
    """The settings of cells in the background, and the part of their state in this process.

    Attributes:
        yield_after: Seconds after which an eval that waits is suspended.
        wait_name: Name of the tool that continues a cell.
        terminate_name: Name of the tool that ends a cell.
        cell_locks: Locks of cells with calls in flight.
        images: Suspended runs, where the graph has no store.
        terminations: Terminations of cells, for checkpoints that are stored only at the end.
    """

    yield_after: float
    wait_name: str
    terminate_name: str
    cell_locks: CellLocks = attrs.field(factory=CellLocks, init=False)
    images: Images = attrs.field(factory=Images, init=False)
    terminations: Terminations = attrs.field(factory=Terminations, init=False)
    _over: OrderedDict[tuple[str, str, str], None] = attrs.field(factory=OrderedDict, init=False)
    _recent: OrderedDict[tuple[str, str], str] = attrs.field(factory=OrderedDict, init=False)

    @property
    def tools(self) -> tuple[str, str]:
        """Names of the two tools."""
        return (self.wait_name, self.terminate_name)

    def record(self, call: Mapping[str, Any], state: Mapping[str, Any]) -> CellRecord | None:
        """The record of the cell that a call of one of the two tools names."""
        if call["name"] not in self.tools:
            return None
        return CellRecord.of(state, str(call["args"].get("id")))

    def store(
        self, cell: CellRecord | None, call: str, *, key: str, writes: CheckpointWrites, **rest: Any
    ) -> BackgroundStore:
        """The store for the journal of a new cell, or of one that an earlier step began.

        Args:
            cell: The cell of an earlier step.
            call: Name of the model's call, among the calls of its message.
            key: Identifies the cell, if it is new.
            writes: The checkpoint that the current step started from.
            rest: The other arguments of the store.
        """
        origin = writes
        if cell is not None:
            checkpoint = writes.checkpoint.at(cell.graph, cell.checkpoint)
            origin = CheckpointWrites(checkpoint, writes.is_async)
            key = eval_key(checkpoint.config, cell.name)
        return BackgroundStore(
            key=key,
            writes=origin,
            step=writes,
            call=call,
            continued=cell is not None,
            images=self.images,
            terminations=self.terminations,
            **rest,
        )

    @staticmethod
    def new_id(store: BackgroundStore) -> str:
        """The id of a new cell, the same in every run of its eval."""
        return blake2b(store.key.encode(), digest_size=3).hexdigest()

    def began(self, owner: str, message: str, cell: str) -> None:
        """Note that a cell was suspended, for other evals of its message."""
        self._recent[owner, message] = cell
        while len(self._recent) > _MAX_RECENT:
            self._recent.popitem(last=False)

    def ended(self, owner: str, message: str) -> None:
        """Note that the cell of a message has ended."""
        self._recent.pop((owner, message), None)

    def over(self, owner: str, message: str, cell: str) -> None:
        """Note that a cell is over, for other evals of the message that ended it."""
        self._over[owner, message, cell] = None
        while len(self._over) > _MAX_RECENT:
            self._over.popitem(last=False)

    def still(self, owner: str, message: str, cells: Iterable[str]) -> list[str]:
        """The cells that no call of a message has ended."""
        return [cell for cell in cells if (owner, message, cell) not in self._over]

    def recent(self, owner: str, message: str) -> str | None:
        """Return the id of the suspended cell of a message."""
        return self._recent.get((owner, message))
