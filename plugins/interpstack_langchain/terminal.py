"""Text for a terminal, and the check that there is somewhere to write it."""

from __future__ import annotations

import sys

from interpstack import ConfigurationError

__all__ = ["check_output", "plain"]


def check_output() -> None:
    """Refuse to begin where nobody could see the result.

    Raises:
        ConfigurationError: Standard output was closed by whoever started this process.
    """
    if sys.stdout is None:
        raise ConfigurationError(
            "standard output is closed; send it to a terminal, a pipe or a file"
        )


def plain(text: str) -> str:
    """A text with escapes for control characters and characters that a terminal cannot encode."""
    shown = "".join(
        char if char in "\n\t" or char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )
    encoding = sys.stdout.encoding or "utf-8"
    return shown.encode(encoding, "backslashreplace").decode(encoding)
