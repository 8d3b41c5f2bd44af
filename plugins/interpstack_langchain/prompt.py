"""What the model reads of the interpreter itself."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from interpstack_langchain.options import Options

__all__ = ["code_description", "interpreter_section", "tool_description"]

_NAMES = {"javascript": "JavaScript", "python": "Python"}

_STATE = {
    "thread": "Variables persist across calls and turns of this conversation.",
    "turn": "Variables persist across calls until you give your final answer, then they are reset.",
    "call": "Each call starts anew: no variable persists to the next.",
}


def interpreter_section(options: Options, scope: str, language: str) -> str:
    """The section on the interpreter for the system prompt."""
    return _text(_file(language)).format(
        tool=options.tool_name,
        state=_STATE[scope],
        cpu="no limit" if options.timeout is None else f"{options.timeout:g} s",
        memory=options.memory_limit // 2**20,
        chars=options.max_result_chars,
    )


def tool_description(scope: str, language: str) -> str:
    """The description of the eval tool."""
    name = _NAMES[_file(language)]
    return f"Run {name} in a sandbox and get the value of its last expression. {_STATE[scope]}"


def code_description(language: str) -> str:
    """The description of the eval tool's argument."""
    return f"{_NAMES[_file(language)]} to run. The value of the last expression is returned."


def _file(language: str) -> str:
    return "python" if language == "python" else "javascript"


@cache
def _text(language: str) -> str:
    return (files("interpstack_langchain") / f"prompt.{language}.md").read_text("utf-8").strip()
