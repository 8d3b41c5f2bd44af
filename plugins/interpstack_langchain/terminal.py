"""Text for a terminal."""

from __future__ import annotations

import sys

__all__ = ["plain"]


def plain(text: str) -> str:
    """A text with escapes for control characters and characters that a terminal cannot encode."""
    shown = "".join(
        char if char in "\n\t" or char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )
    encoding = sys.stdout.encoding or "utf-8"
    return shown.encode(encoding, "backslashreplace").decode(encoding)
