"""What the model reads of the language it may write."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["python_section"]


@cache
def python_section() -> str:
    """The section on what Monty's Python lacks."""
    return (files("interpstack_monty") / "prompt.md").read_text("utf-8").strip()
