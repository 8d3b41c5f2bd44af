"""The saved state of a realm, from which the host opens it again after its worker died."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from interpstack_core import EngineFailure, Image
from interpstack_process.connection.frames import Malformed
from interpstack_process.connection.messages import read_image, read_text, read_values
from interpstack_process.redo import CellInputs

__all__ = ["SavedState", "StateLost", "read_saved_state"]

_NAMES_SHOWN: Final = 20
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
class SavedState:
    """A realm's state between two cells; nothing at all for a new realm.

    Attributes:
        image: The exact state.
        values: Portable values, of engines without images.
        lost: Why there is neither.
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

    def told(self) -> str:
        """The words for the state of the variables in a realm that is opened from this state."""
        if self.lost:
            return f"all variables of earlier cells are lost: {self.lost}"
        if self.values is None:
            return "variables are as they were before this cell"
        gone = [k for k, v in self.values.items() if isinstance(v, dict) and v.get("$") == "lost"]
        told = "variables of earlier cells are restored from their values"
        return told + (f"; not restored: {', '.join(gone[:_NAMES_SHOWN])}" if gone else "")


def read_saved_state(told: Any, attached: bytes) -> SavedState:
    """A state that a worker sent along.

    Raises:
        Malformed: It has another form.
    """
    if not isinstance(told, dict) or len(told) != 1:
        raise Malformed("a state of another form")
    if "image" in told:
        return SavedState(image=read_image(told["image"], attached))
    if "values" in told:
        return SavedState(values=read_values(told["values"]))
    return SavedState(lost=read_text(told.get("lost"), _REASON_CHARS))
