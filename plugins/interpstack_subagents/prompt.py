"""The prompt section on subagents."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from interpstack import HostOffer
from interpstack_subagents.api import Subagents

__all__ = ["task_section"]

_FILES: Final = {"javascript": "javascript", "typescript": "javascript", "python": "python"}
#: Read when this is imported: an event loop must not wait for files.
_TEXTS: Final = {
    language: (files("interpstack_subagents") / f"prompt.{name}.md").read_text("utf-8").strip()
    for language, name in _FILES.items()
}


def task_section(language: str, offer: HostOffer) -> str | None:
    """The section for an offer; `None` for one without subagents."""
    if offer.part(Subagents) is None or language not in _TEXTS:
        return None
    return _TEXTS[language]
