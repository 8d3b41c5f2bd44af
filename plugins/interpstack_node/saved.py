"""The portable values of a guest, which outlive its kernel, and the answers that carry them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from interpstack_core import EngineFailure
from interpstack_javascript.exchange import read_answer

__all__ = ["SavedValues", "read_names"]

#: Names of lost variables that a notice lists.
_LISTED: Final = 20


class SavedValues:
    """The values of a guest's variables, as a kernel that is not trusted last reported them."""

    def __init__(self) -> None:
        self._text = "{}"
        self._current = True

    @property
    def current(self) -> bool:
        """Whether the guest has not run since the report."""
        return self._current

    def outdate(self) -> None:
        """Note that the guest may change its variables from now on."""
        self._current = False

    def accept(self) -> None:
        """Note that these values stand, because the kernel with later ones is gone."""
        self._current = True

    def save(self, text: str) -> None:
        """Replace the values by those in a kernel's report."""
        self._text, self._current = text, True

    def forget(self) -> None:
        """Drop all values."""
        self.save("{}")

    def read(self) -> dict[str, Any]:
        """The values by name, unchecked.

        Raises:
            EngineFailure: The report has another form.
        """
        values = self._parsed()
        if values is None:
            raise EngineFailure("the kernel reported variables in an unexpected form")
        return values

    def readable(self) -> Mapping[str, Any]:
        """The values by name; none if the report has another form."""
        return self._parsed() or {}

    def loss(self) -> str | None:
        """The notice about variables that have no value to restore; `None` if each has one."""
        lost = [
            name
            for name, wire in self.readable().items()
            if isinstance(wire, dict) and wire.get("$") == "lost"
        ]
        if not lost:
            return None
        more = f" and {len(lost) - _LISTED} more" if len(lost) > _LISTED else ""
        return (
            "The kernel process has ended since the last cell. Variables were restored from "
            f"their values; without a value, and so lost: {', '.join(lost[:_LISTED])}{more}."
        )

    def _parsed(self) -> dict[str, Any] | None:
        try:
            values = read_answer(self._text)
        except EngineFailure:
            return None
        return values if isinstance(values, dict) else None


def read_names(text: str) -> list[str]:
    """Names as a kernel reports them.

    Raises:
        EngineFailure: The report has another form.
    """
    names = read_answer(text)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise EngineFailure("the kernel reported names in an unexpected form")
    return names
