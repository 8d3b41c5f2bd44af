"""The prompt section that tells the model which tools its code may call."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from interpstack import HostOffer
from interpstack_ptc import languages
from interpstack_ptc.api import ToolSignatures
from interpstack_ptc.names import guest_names

__all__ = ["tools_section"]

#: Read when this is imported: an event loop must not wait for files.
_TEXTS: Final = {
    name: (files("interpstack_ptc") / f"prompt.{name}.md").read_text("utf-8").strip()
    for name in ("javascript", "python", "other")
}


def tools_section(language: str, offer: HostOffer) -> str | None:
    """The section for an offer; `None` for one without tools."""
    if not offer.tools:
        return None
    spoken = languages.find(language)
    head = _TEXTS[spoken.prompt].replace("`eval`", f"`{offer.code_tool}`")
    named = guest_names(offer.tools, spoken.name)
    signatures = "\n".join(spoken.describe(name, tool) for name, tool in named.items())
    shown = offer.part(ToolSignatures) or ToolSignatures()
    if len(signatures) <= shown.max_chars:
        return f"{head}\n\n{spoken.listing.format(signatures=signatures)}"
    listed = ", ".join(named)
    return f"{head}\n\nThere are too many to show. {spoken.finding} Names on `tools`: {listed}"
