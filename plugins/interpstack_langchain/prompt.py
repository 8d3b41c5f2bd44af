"""What the model reads of the interpreter itself."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from interpstack_langchain.options import Options

__all__ = ["interpreter_section", "tool_description"]

_STATE = {
    "thread": "Variables persist across calls and turns of this conversation.",
    "turn": "Variables persist across calls until you give your final answer, then they are reset.",
    "call": "Each call starts anew: no variable persists to the next.",
}


def interpreter_section(options: Options, scope: str) -> str:
    """The section on the interpreter for the system prompt."""
    return _text().format(
        tool=options.tool_name,
        state=_STATE[scope],
        cpu="no limit" if options.timeout is None else f"{options.timeout:g} s",
        memory=options.memory_limit // 2**20,
        chars=options.max_result_chars,
    )


def tool_description(scope: str) -> str:
    """The description of the eval tool."""
    return f"Run JavaScript in a sandbox and get the value of its last expression. {_STATE[scope]}"


@cache
def _text() -> str:
    return (files("interpstack_langchain") / "prompt.md").read_text("utf-8").strip()
