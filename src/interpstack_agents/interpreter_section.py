"""The section on the interpreter itself, for the prompts of all adapters."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

import attrs

from interpstack import GuestLanguage, Limits

__all__ = ["InterpreterFacts", "interpreter_section", "lifetime_of_variables"]

#: Read when this is imported: an event loop must not wait for files.
_TEXT: Final = (files("interpstack_agents") / "interpreter.md").read_text("utf-8").strip()
_LIFETIMES: Final = {
    "thread": "Variables persist across calls and turns of this conversation.",
    "turn": "Variables persist across calls until you give your final answer, then they are reset.",
    "call": "Each call starts fresh: no variables persist.",
}


@attrs.frozen
class InterpreterFacts:
    """What the section says of an interpreter; may be a part of a `HostOffer`.

    Attributes:
        scope: How long variables live, as `Persistence.scope` says.
        limits: The limits of each cell.
    """

    scope: str
    limits: Limits


def lifetime_of_variables(scope: str) -> str:
    """A sentence that says how long variables live."""
    return _LIFETIMES.get(scope, _LIFETIMES["call"])


def interpreter_section(facts: InterpreterFacts, tool: str, language: GuestLanguage) -> str:
    """The section on the interpreter.

    Args:
        facts: What it says of the interpreter.
        tool: Name of the tool that runs code.
        language: Language of the guest.
    """
    words, limits = language.words, facts.limits
    text = _TEXT if words.cells else _TEXT.replace("- {cells}\n", "")
    seconds, memory = limits.cpu_seconds, limits.memory_bytes
    return text.format(
        tool=tool,
        language=language.title,
        state=lifetime_of_variables(facts.scope),
        cells=words.cells,
        modules=words.modules,
        cpu="no limit" if seconds is None else f"{seconds:g} s",
        memory="any number of" if memory is None else memory // 2**20,
        chars=limits.result_chars,
    )
