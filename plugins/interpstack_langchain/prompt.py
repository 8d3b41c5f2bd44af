"""What the model reads of the interpreter itself."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

import attrs

from interpstack_langchain.options import Options

__all__ = ["InterpreterShown", "code_description", "interpreter_section", "tool_description"]

#: Titles of guest languages; of any other one the model reads the name that its engine declares.
_TITLES = {"javascript": "JavaScript", "typescript": "TypeScript", "python": "Python"}
#: Languages whose prompt tells more than what holds for all.
_FILES = {"javascript": "javascript", "typescript": "javascript", "python": "python"}
#: Read when this is imported: an event loop must not wait for files.
_TEXTS: Final = {
    name: (files("interpstack_langchain") / f"prompt.{name}.md").read_text("utf-8").strip()
    for name in ("javascript", "python", "other")
}

_STATE = {
    "thread": "Variables persist across calls and turns of this conversation.",
    "turn": "Variables persist across calls until you give your final answer, then they are reset.",
    "call": "Each call starts anew: no variable persists to the next.",
}


@attrs.frozen
class InterpreterShown:
    """Part of a `HostOffer` for the prompt section on the interpreter itself.

    Attributes:
        options: Options of the middleware.
        scope: How long variables live: `thread`, `turn` or `call`.
    """

    options: Options
    scope: str


def interpreter_section(options: Options, scope: str, language: str) -> str:
    """The section on the interpreter for the system prompt."""
    return _TEXTS[_FILES.get(language, "other")].format(
        tool=options.tool_name,
        language=_title(language),
        state=_STATE[scope],
        cpu="no limit" if options.timeout is None else f"{options.timeout:g} s",
        memory=options.memory_limit // 2**20,
        chars=options.max_result_chars,
    )


def tool_description(scope: str, language: str) -> str:
    """The description of the eval tool."""
    return (
        f"Run {_title(language)} in a sandbox and get the value of its last expression. "
        f"{_STATE[scope]}"
    )


def code_description(language: str) -> str:
    """The description of the eval tool's argument."""
    return f"{_title(language)} to run. The value of the last expression is returned."


def _title(language: str) -> str:
    return _TITLES.get(language, language)
