"""Text for a terminal, and the stream that it is written to."""

from __future__ import annotations

import sys
from typing import TextIO

from interpstack import ConfigurationError

__all__ = ["output", "plain"]


def output() -> TextIO:
    """Standard output; a command whose result could not be shown does not begin.

    Raises:
        ConfigurationError: Standard output was closed by the parent process.
    """
    if sys.stdout is None:
        raise ConfigurationError(
            "standard output is closed; send it to a terminal, a pipe or a file"
        )
    return sys.stdout


def plain(text: str) -> str:
    """A text with escapes for control characters and characters that a terminal cannot encode."""
    shown = "".join(
        char if char in "\n\t" or char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )
    encoding = sys.stdout.encoding or "utf-8"
    return shown.encode(encoding, "backslashreplace").decode(encoding)
