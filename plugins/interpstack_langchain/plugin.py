"""The hook implementations of this package; the middleware adds them to its stack itself."""

from __future__ import annotations

from interpstack import Turn, hookimpl
from interpstack_langchain.prompt import interpreter_section


@hookimpl
def interpstack_prompt_section(turn: Turn) -> str | None:
    options = turn.options.get("langchain")
    return None if options is None else interpreter_section(options, turn.options["scope"])
