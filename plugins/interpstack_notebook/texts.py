"""Texts of a guest for notebooks: no control sequences, and nothing that is HTML."""

from __future__ import annotations

import html
import sys
from typing import Final, TextIO

__all__ = ["ConsoleWriter", "escaped", "printable"]

_LINES: Final = "\n\t"


def printable(text: str) -> str:
    """A text in which characters that cannot be seen are escapes, such as those of terminals."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(
        sign if sign in _LINES or sign.isprintable() else sign.encode("unicode_escape").decode()
        for sign in text
    )


def escaped(text: str) -> str:
    """A text as HTML that shows it, in an element or an attribute."""
    return html.escape(printable(text), quote=True)


class ConsoleWriter:
    """Writes console output to the notebook while its cell runs; see `Session.eval`."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stdout if stream is None else stream
        self._last = "\n"

    def __call__(self, part: str) -> None:
        self._stream.write(printable(part))
        self._stream.flush()
        self._last = part[-1:]

    def finish(self) -> None:
        """End the last line."""
        if self._last != "\n":
            self("\n")
