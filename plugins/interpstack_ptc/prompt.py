"""The prompt section that tells the model which tools its code may call."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from interpstack import Turn
from interpstack_ptc import languages
from interpstack_ptc.names import guest_names

__all__ = ["tools_section"]

#: Read when this is imported: an event loop must not wait for files.
_TEXTS: Final = {
    name: (files("interpstack_ptc") / f"prompt.{name}.md").read_text("utf-8").strip()
    for name in ("javascript", "python", "other")
}
#: Characters that signatures may take before only names are listed.
DEFAULT_BUDGET_CHARS = 4000


def tools_section(language: str, turn: Turn) -> str | None:
    """The section for one turn; `None` without tools.

    `Turn.options` may hold `tool_name`, the name of the tool that takes the code, and
    `ptc_prompt_chars`, characters that signatures may take before only names are listed.
    """
    if not turn.tools:
        return None
    spoken = languages.find(language)
    head = _TEXTS[spoken.prompt].replace("`eval`", f"`{turn.options.get('tool_name', 'eval')}`")
    named = guest_names(turn.tools, spoken.name)
    signatures = "\n".join(spoken.describe(name, tool) for name, tool in named.items())
    budget = turn.options.get("ptc_prompt_chars", DEFAULT_BUDGET_CHARS)
    if len(signatures) <= budget:
        return f"{head}\n\n{spoken.listing.format(signatures=signatures)}"
    listed = ", ".join(named)
    return f"{head}\n\nThere are too many to show. {spoken.finding} Names on `tools`: {listed}"
