"""Console output that arrives line by line, before the call that delivers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["PrintedLines"]

#: Characters that are held for the case that the kernel ends before it delivers them.
_RECORDED: Final = 16_384


class PrintedLines:
    """The lines that a cell has printed.

    Args:
        chars: Characters that a listener hears at most.
    """

    def __init__(self, chars: int) -> None:
        self._lines: list[str] = []
        self._room = _RECORDED
        self._hear: Callable[[str], None] | None = None
        self._hear_room = chars

    @property
    def is_heard(self) -> bool:
        """Whether there is a listener, and so each step of the cell delivers its output."""
        return self._hear is not None

    @property
    def text(self) -> str:
        """The output that the guest's kernel has not delivered yet."""
        return "\n".join(self._lines)

    def listen(self, hear: Callable[[str], None]) -> None:
        """Pass lines on as they come."""
        self._hear = hear

    def ignored(self) -> None:
        """Stop passing lines on; a step of the cell still delivers its output."""
        if self._hear is not None:
            self._hear = lambda line: None

    def resumed(self) -> None:
        """Begin another step of the cell: with a listener, the last one delivered its output."""
        if self.is_heard:
            self._lines.clear()
            self._room = _RECORDED

    def take(self, line: str) -> None:
        """Take a line, as far as there is room for it."""
        if self._room > 0:
            self._lines.append(line[: self._room])
            self._room -= len(self._lines[-1]) + 1
        if self._hear is None or self._hear_room <= 0:
            return
        kept = line[: self._hear_room]  # as the guest's kernel counts
        self._hear_room -= len(kept) + 1
        self._hear(kept if len(self._lines) == 1 else f"\n{kept}")
