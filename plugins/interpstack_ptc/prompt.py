"""The prompt section that tells the model which tools its code may call."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Final

from interpstack import GuestLanguage, HostOffer, HostTool
from interpstack_ptc.api import ToolSignatures
from interpstack_ptc.names import guest_names
from interpstack_schemas import says_nothing

__all__ = ["tools_section"]

#: Read when this is imported: an event loop must not wait for files.
_TEXT: Final = (files("interpstack_ptc") / "prompt.md").read_text("utf-8").strip()


def tools_section(language: GuestLanguage, offer: HostOffer) -> str | None:
    """The section for an offer; `None` for one without tools."""
    if not offer.tools:
        return None
    words = language.words
    head = _TEXT if words.together else _TEXT.replace("- {together}\n", "")
    head = head.format(
        tool=offer.code_tool,
        calling=words.calling,
        together=words.together,
        failing=words.failing,
    )
    named = guest_names(offer.tools, language)
    shown = offer.part(ToolSignatures) or ToolSignatures()
    declared = {name: tool.declared for name, tool in named.items()}
    for tools in (named, declared) if declared != named else (named,):
        signatures = [language.signature(name, tool) for name, tool in tools.items()]
        if sum(map(len, signatures)) + len(signatures) - 1 <= shown.max_chars:
            advice = _advice(language, tools.values())
            return f"{head}{advice}\n\n{language.listing('tools', signatures)}"
    return f"{head}\n\nThere are too many to show. {_finding(language)} {_listed(named)}"


def _advice(language: GuestLanguage, tools: Iterable[HostTool]) -> str:
    """A line about answers of unknown types, if there are any."""
    unknown = language.words.unknown
    if unknown and any(one.learned is None and says_nothing(one.output_schema) for one in tools):
        return f"\n- Look at one answer of type `{unknown}` first."
    return ""


def _finding(language: GuestLanguage) -> str:
    """Calls of the functions that search for tools, as code in the guest's language."""
    search, look_up = (f"tools.{language.helper_prefix}{n}" for n in ("search", "describe"))
    words = language.words
    if words.asking:
        search = words.waiting.format(call=words.asking.format(function=search, text="words"))
        look_up = words.waiting.format(call=words.asking.format(function=look_up, text="name"))
        return f"`{search}` finds some, `{look_up}` shows a signature."
    return f"`{search}` finds some by words, `{look_up}` shows the signature of a name."


def _listed(names: Iterable[str]) -> str:
    return f"Names on `tools`: {', '.join(names)}"
