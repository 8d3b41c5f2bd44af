"""The prompt section on subagents."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from interpstack import Turn

__all__ = ["task_section"]

_TEXTS = {"javascript": "javascript", "typescript": "javascript", "python": "python"}


def task_section(language: str, turn: Turn) -> str | None:
    """The section for one turn; `None` when the host has no subagents."""
    if turn.options.get("dispatch") is None or language not in _TEXTS:
        return None
    return _text(_TEXTS[language])


@cache
def _text(language: str) -> str:
    return (files("interpstack_subagents") / f"prompt.{language}.md").read_text("utf-8").strip()
