"""The hook implementations of this package; the capability adds them to its stack itself."""

from __future__ import annotations

from interpstack import HostOffer, InterpreterStack, hookimpl
from interpstack_agents import InterpreterFacts, interpreter_section


@hookimpl
def interpstack_prompt_section(stack: InterpreterStack, offer: HostOffer) -> str | None:
    shown = offer.part(InterpreterFacts)
    return None if shown is None else interpreter_section(shown, offer.code_tool, stack.language)
