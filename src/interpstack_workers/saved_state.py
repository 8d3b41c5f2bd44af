"""The saved state of a realm, from which the host opens it again after its worker died."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from interpstack import EngineFailure, Image
from interpstack.checks import listed
from interpstack_workers.messages import read_image, read_text, read_values
from interpstack_workers.redo import CellInputs
from interpstack_workers.workers import MalformedMessage

__all__ = ["SavedRealm", "StateLost", "StateNotes", "read_saved_state"]

_NAMES_SHOWN: Final = 50
_REASON_CHARS: Final = 20_000


class StateLost(EngineFailure):
    """The variables of earlier cells are gone.

    Attributes:
        loss: The words for that, with which the message ends.
    """

    def __init__(self, what: str, loss: str) -> None:
        super().__init__(f"{what}; {loss}")
        self.loss = loss


@attrs.frozen(kw_only=True)
class SavedRealm:
    """A realm's state between two cells; empty for a new realm.

    Attributes:
        image: The exact state.
        values: Portable values, of engines without images.
        lost: The reason if there is neither an image nor values.
        since: Inputs of the cells that have run since, to be repeated in order.
    """

    image: Image | None = None
    values: Mapping[str, Any] | None = None
    lost: str = ""
    since: tuple[CellInputs, ...] = ()

    @property
    def there(self) -> bool:
        """Whether there is a state to open a realm from."""
        return self.image is not None or self.values is not None or bool(self.since)

    def described(self) -> str:
        """The words for the state of the variables in a realm that is opened from this state."""
        if self.lost:
            return f"all variables of earlier cells are lost: {self.lost}"
        if self.values is None:
            return "variables are as they were before this cell"
        gone = [k for k, v in self.values.items() if isinstance(v, dict) and v.get("$") == "lost"]
        text = "variables of earlier cells are restored from their values"
        return text + (f"; not restored: {listed(gone, _NAMES_SHOWN)}" if gone else "")


class StateNotes:
    """Notes on the state of a realm: the newest that the host has, and losses.

    Args:
        saved: The state that the realm starts from.

    Attributes:
        saved: The newest state that the host has.
        fresh: Whether the realm could be opened from `saved` in its current state.
    """

    def __init__(self, saved: SavedRealm) -> None:
        self.saved = saved
        self.fresh = False
        self._began = False
        self._lost: StateLost | None = None

    def go_on(self) -> None:
        """Note that the guest is about to change its state."""
        self.fresh = False
        self._began = True

    def start_from(self, saved: SavedRealm) -> None:
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

    def current(self) -> SavedRealm | None:
        """The current state without cells to repeat; `None` if only the worker has it."""
        return self.saved if self.fresh and not self.saved.since else None

    def start_anew(self, what: str) -> StateLost:
        """Drop a state that is lost because of `what`, and return the error to report."""
        lost = StateLost(what, self.saved.described())
        self.saved = SavedRealm()
        return lost

    def check_lost(self) -> None:
        """Tell once that the state was lost.

        Raises:
            StateLost: The state was lost, and no cell has reported the loss.
        """
        lost, self._lost = self._lost, None
        if lost is not None:
            raise lost

    @property
    def portable(self) -> bool:
        """Whether the exact state can be had in another worker."""
        exact = self.saved.image is not None or bool(self.saved.since)
        return (self.fresh and exact) or not (self._began or self.saved.there)

    def start_anew_after(self, what: str) -> None:
        """Drop a state that is lost because of `what`; the next cell reports it."""
        self._lost = self.start_anew(what)


def read_saved_state(data: Any, attached: bytes) -> SavedRealm:
    """A state that a worker sent along.

    Raises:
        MalformedMessage: It has another form.
    """
    if not isinstance(data, dict) or len(data) != 1:
        raise MalformedMessage("a malformed state")
    if "image" in data:
        return SavedRealm(image=read_image(data["image"], attached))
    if "values" in data:
        return SavedRealm(values=read_values(data["values"]))
    return SavedRealm(lost=read_text(data.get("lost"), _REASON_CHARS))
