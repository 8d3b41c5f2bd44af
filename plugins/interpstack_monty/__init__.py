"""An engine whose guest writes Python, run by Monty in worker processes."""

from __future__ import annotations

from interpstack import Engine, GuestLanguage, StackView, hookimpl
from interpstack_monty.prompt import python_section


@hookimpl
def interpstack_register_engine() -> type[Engine]:
    from interpstack_monty.engine import MontyEngine

    return MontyEngine


@hookimpl
def interpstack_register_language() -> GuestLanguage:
    from interpstack_python import PYTHON

    return PYTHON


@hookimpl
def interpstack_prompt_section(stack: StackView) -> str | None:
    from interpstack_monty.engine import MontyEngine

    return python_section() if issubclass(stack.engine.runs, MontyEngine) else None
