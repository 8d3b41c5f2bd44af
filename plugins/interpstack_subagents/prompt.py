"""The prompt section on subagents."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from interpstack import GuestLanguage, HostOffer
from interpstack_subagents.api import Subagents
from interpstack_subagents.dispatch import FIELDS

__all__ = ["task_section"]

#: Read when this is imported: an event loop must not wait for files.
_TEXT: Final = (files("interpstack_subagents") / "prompt.md").read_text("utf-8").strip()
_EACH: Final = "- Run independent jobs in parallel: `{each}`.\n"


def task_section(language: GuestLanguage, offer: HostOffer) -> str | None:
    """The section for an offer; `None` for one without subagents."""
    if offer.part(Subagents) is None:
        return None
    words = language.words
    usage = language.usage("task", {language.identifier(n): must for n, must in FIELDS.items()})
    text = _TEXT if words.each else _TEXT.replace(_EACH, "")
    return text.format(
        task=words.waiting.format(call=usage),
        each=words.each.replace("{function}", "task"),
        schema=language.identifier("response_schema"),
        mapping=words.mapping,
        job_failing=words.job_failing,
    )
