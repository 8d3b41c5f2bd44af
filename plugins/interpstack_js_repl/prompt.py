"""Texts about the REPL, for the model."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

import attrs

from interpstack import GuestLanguage, HostOffer
from interpstack_langchain.api import Options

__all__ = ["DESCRIPTION", "RESET_DESCRIPTION", "JsReplShown", "js_repl_section"]

#: Read when this is imported: an event loop must not wait for files.
_TEXT: Final = (files("interpstack_js_repl") / "prompt.md").read_text("utf-8").strip()
#: Characters of the signatures of all tools.
_SIGNATURES: Final = 8000

DESCRIPTION: Final = (
    "Run JavaScript in a persistent REPL with top-level await. Send raw source text, optionally "
    "with first-line `// interpstack: timeout_ms=15000`; no JSON, quotes or code fences."
)
RESET_DESCRIPTION: Final = "Reset the JavaScript REPL: all variables are deleted."


@attrs.frozen(kw_only=True)
class JsReplShown:
    """Part of a `HostOffer` for the prompt section on the REPL.

    Attributes:
        options: Options of the middleware.
        lifetime: A sentence that says how long variables live.
        namespace: Name of the global that has the helpers.
        reset: Name of the tool that starts the REPL anew.
        seconds: The usual time of a cell.
    """

    options: Options
    lifetime: str
    namespace: str
    reset: str
    seconds: float


def js_repl_section(shown: JsReplShown, language: GuestLanguage, offer: HostOffer) -> str:
    """The section on the REPL for the system prompt."""
    text = _TEXT.format(
        tool=shown.options.tool_name,
        seconds=f"{shown.seconds:g}",
        state=shown.lifetime,
        reset=shown.reset,
        namespace=shown.namespace,
    )
    return f"{text}\n\n{_tools(shown, language, offer)}" if shown.options.tools_only else text


def _tools(shown: JsReplShown, language: GuestLanguage, offer: HostOffer) -> str:
    """Tools that the model sees only here."""
    head = (
        f"Direct tool calls are disabled, except of `{shown.options.tool_name}` and "
        f"`{shown.reset}`: code calls all other tools with `{shown.namespace}.tool(name, input)`."
    )
    if not offer.tools:
        return f"{head} There are none."
    signatures = [language.signature(tool.name, tool) for tool in offer.tools]
    if sum(map(len, signatures)) > _SIGNATURES:  # for which learned types may be the reason
        signatures = [language.signature(tool.name, tool.declared) for tool in offer.tools]
    if sum(map(len, signatures)) > _SIGNATURES:
        names = ", ".join(f"`{tool.name}`" for tool in offer.tools)
        return f"{head} Their names: {names}"
    body = "\n".join(signatures)
    return f"{head} Names, inputs and answers:\n\n```ts\n{body}\n```"
