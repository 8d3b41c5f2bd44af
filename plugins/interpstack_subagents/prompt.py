"""The prompt section on subagents."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from interpstack import Turn

__all__ = ["task_section"]

_FILES: Final = {"javascript": "javascript", "typescript": "javascript", "python": "python"}
#: Read when this is imported: an event loop must not wait for files.
_TEXTS: Final = {
    language: (files("interpstack_subagents") / f"prompt.{name}.md").read_text("utf-8").strip()
    for language, name in _FILES.items()
}


def task_section(language: str, turn: Turn) -> str | None:
    """The section for one turn; `None` when the host has no subagents."""
    if turn.options.get("dispatch") is None or language not in _TEXTS:
        return None
    return _TEXTS[language]
