"""The prompt section on subagents."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from interpstack import Turn

__all__ = ["task_section"]


def task_section(language: str, turn: Turn) -> str | None:
    """The section for one turn; `None` when the host has no subagents."""
    if turn.options.get("dispatch") is None or language not in ("javascript", "typescript"):
        return None
    return _text()


@cache
def _text() -> str:
    return (files("interpstack_subagents") / "prompt.md").read_text("utf-8").strip()
