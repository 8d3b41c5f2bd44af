"""How tools look in each guest language."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import attrs

from interpstack import HostTool
from interpstack_ptc import python, signatures

__all__ = ["Language", "find"]


@attrs.frozen(kw_only=True)
class Language:
    """What differs from language to language.

    Attributes:
        name: As engines call it.
        prompt: The middle of the prompt's file name.
        describe: A tool, under its name in the guest, as a signature.
        listing: Around the signatures in the prompt.
        search: Name of the function that searches tools.
        look_up: Name of the one that shows a signature.
        finding: How the prompt says what those two are for.
        call: A call of a tool, for messages; `{name}` stands for the tool.
        declares: Whether signatures are declarations that an engine can check calls against.
    """

    name: str
    prompt: str
    describe: Callable[[str, HostTool], str]
    listing: str
    search: str
    look_up: str
    finding: str
    call: str
    declares: bool = False


def _describe_fields(name: str, tool: HostTool) -> str:
    """A tool in no language's syntax: its name, what it does, and the schema of its input."""
    schema = json.dumps(tool.input_schema, ensure_ascii=False)
    about = " ".join(tool.description.split())
    return f"- `tools.{name}`: {about} Fields, as JSON Schema: `{schema}`"


_FINDING: Final = (
    '`await tools.{search}("words")` finds some, `await tools.{look_up}("name")` shows a signature.'
)
_JAVASCRIPT: Final = Language(
    name="javascript",
    prompt="javascript",
    describe=signatures.describe_tool,
    listing="```ts\ndeclare const tools: {{\n{signatures}\n}}\n```",
    search="$search",
    look_up="$describe",
    finding=_FINDING.format(search="$search", look_up="$describe"),
    call="one object, as in tools.{name}({{…}})",
)
_PYTHON: Final = Language(
    name="python",
    prompt="python",
    describe=python.describe_tool,
    listing="```python\n# on `tools`\n{signatures}\n```",
    search="_search",
    look_up="_describe",
    finding=_FINDING.format(search="_search", look_up="_describe"),
    call="arguments by name, as in tools.{name}(field=…)",
    declares=True,
)
_LANGUAGES: Final = {
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "python": _PYTHON,
}


def find(language: str) -> Language:
    """How tools look in a guest language; where nobody knows it, in no language's syntax."""
    return _LANGUAGES.get(language) or Language(
        name=language,
        prompt="other",
        describe=_describe_fields,
        listing="{signatures}",
        search="$search",
        look_up="$describe",
        finding="`tools.$search` finds some by words, `tools.$describe` shows the one of a name.",
        call="one object of the fields that its input schema names",
    )
