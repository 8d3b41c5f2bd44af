"""The prompt section about the language of cells."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

__all__ = ["python_section"]


#: Read when this is imported: an event loop must not wait for files.
_TEXT: Final = (files("interpstack_monty") / "prompt.md").read_text("utf-8").strip()


def python_section() -> str:
    """The section on missing features of Monty's Python."""
    return _TEXT
