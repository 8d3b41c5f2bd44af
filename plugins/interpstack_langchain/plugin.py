"""The hook implementations of this package; the middleware adds them to its stack itself."""

from __future__ import annotations

from interpstack import InterpreterStack, Turn, hookimpl
from interpstack_langchain.prompt import interpreter_section


@hookimpl
def interpstack_prompt_section(stack: InterpreterStack, turn: Turn) -> str | None:
    options = turn.options.get("langchain")
    if options is None:
        return None
    return interpreter_section(options, turn.options["scope"], stack.engine.language)
