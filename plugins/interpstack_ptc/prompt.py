"""The prompt section that tells the model which tools its code may call."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from interpstack import Turn
from interpstack_ptc.names import guest_names
from interpstack_ptc.signatures import describe_tool

__all__ = ["tools_section"]

#: Characters that signatures may take before only names are listed.
DEFAULT_BUDGET_CHARS = 4000


def tools_section(language: str, turn: Turn) -> str | None:
    """The section for one turn; `None` without tools.

    `Turn.options` may hold `tool_name`, the name of the tool that takes the code, and
    `ptc_prompt_chars`, characters that signatures may take before only names are listed.
    """
    if not turn.tools or language not in ("javascript", "typescript"):
        return None
    head = _text().replace("`eval`", f"`{turn.options.get('tool_name', 'eval')}`")
    named = guest_names(turn.tools)
    signatures = "\n".join(describe_tool(name, tool) for name, tool in named.items())
    budget = turn.options.get("ptc_prompt_chars", DEFAULT_BUDGET_CHARS)
    if len(signatures) <= budget:
        return f"{head}\n\n```ts\ndeclare const tools: {{\n{signatures}\n}}\n```"
    listed = ", ".join(named)
    return (
        f'{head}\n\nThere are too many to show. `await tools.$search("words")` finds some, '
        f'`await tools.$describe("name")` shows a signature. Names on `tools`: {listed}'
    )


@cache
def _text() -> str:
    return (files("interpstack_ptc") / "prompt.md").read_text("utf-8").strip()
