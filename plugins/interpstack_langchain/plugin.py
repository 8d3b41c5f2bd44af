"""The hook implementations of this package; the middleware adds them to its stack itself."""

from __future__ import annotations

from types import ModuleType

from interpstack import HostOffer, InterpreterStack, hookimpl
from interpstack_langchain.prompt import InterpreterShown, interpreter_section
from interpstack_persistence.api import hookspecs


@hookimpl
def interpstack_add_hookspecs() -> ModuleType:
    return hookspecs  # the middleware asks for modes, whoever registers them


@hookimpl
def interpstack_prompt_section(stack: InterpreterStack, offer: HostOffer) -> str | None:
    shown = offer.part(InterpreterShown)
    if shown is None:
        return None
    return interpreter_section(shown.options, shown.scope, stack.language)
