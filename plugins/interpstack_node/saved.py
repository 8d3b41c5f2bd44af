"""The portable values of a guest, which outlive its kernel, and the answers that carry them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interpstack import EngineFailure
from interpstack_javascript.exchange import read_answer
from interpstack_javascript.exported import Losses

__all__ = ["SavedValues", "read_names"]


class SavedValues:
    """The values of a guest's variables, as a kernel that is not trusted last reported them."""

    def __init__(self) -> None:
        self._text = "{}"
        self._current = True
        self._losses = Losses()

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

    def loaded(self, text: str) -> None:
        """Replace the values by those that the guest was given; the reader knows what they lack."""
        self.save(text)
        self._losses.known(self.readable())

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

    def loss(self) -> str:
        """The notice about variables without a value to restore; empty if each has one."""
        notice = self._losses.notice(self.readable()) if '"lost"' in self._text else ""
        return f"The kernel process has ended since the last cell. {notice}" if notice else ""

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
