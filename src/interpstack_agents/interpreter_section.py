"""The section on the interpreter itself, for the prompts of all adapters."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import attrs

from interpstack import GuestLanguage, Limits
from interpstack_agents.persistence import Persistence, PersistenceScope

__all__ = ["InterpreterFacts", "interpreter_section", "lifetime_of_variables"]

#: Read when this is imported: an event loop must not wait for files.
_TEXT: Final = (files("interpstack_agents") / "interpreter.md").read_text("utf-8").strip()
_LIFETIMES: Final[Mapping[str, str]] = {
    PersistenceScope.SHARED: (
        "Variables persist across calls and turns, and other conversations may use them."
    ),
    PersistenceScope.THREAD: "Variables persist across calls and turns of this conversation.",
    PersistenceScope.TURN: (
        "Variables persist across calls until you give your final answer, then they are reset."
    ),
    PersistenceScope.CALL: "Each call starts fresh: no variables persist.",
}


@attrs.frozen
class InterpreterFacts:
    """What the section says of an interpreter; may be a part of a `HostOffer`.

    Attributes:
        lifetime: A sentence that says how long variables live; see `lifetime_of_variables`.
        limits: The limits of each cell.
    """

    lifetime: str
    limits: Limits


def lifetime_of_variables(mode: Persistence, *, stored: bool = True) -> str:
    """Return a sentence that says how long variables live.

    Args:
        mode: The persistence mode.
        stored: Whether the conversation is stored; otherwise its variables end with the turn.
    """
    if mode.scope == PersistenceScope.THREAD and not stored:
        return _LIFETIMES[PersistenceScope.TURN]
    return mode.lifetime or _LIFETIMES[mode.scope]


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
        state=facts.lifetime,
        cells=words.cells,
        modules=words.modules,
        cpu="no limit" if seconds is None else f"{seconds:g} s",
        memory="any number of" if memory is None else memory // 2**20,
        chars=limits.result_chars,
    )
