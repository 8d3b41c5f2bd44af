"""How tools look in each guest language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from interpstack import HostTool
from interpstack_ptc import python, signatures

__all__ = ["JAVASCRIPT", "Language", "find"]


@attrs.frozen(kw_only=True)
class Language:
    """What differs from language to language.

    Attributes:
        name: As engines call it; also the middle of the prompt's file name.
        describe: A tool, under its name in the guest, as a signature.
        listing: Around the signatures in the prompt.
        search: Name of the function that searches tools.
        look_up: Name of the one that shows a signature.
        call: A call of a tool, for messages; `{name}` stands for the tool.
        declares: Whether signatures are declarations that an engine can check calls against.
    """

    name: str
    describe: Callable[[str, HostTool], str]
    listing: str
    search: str
    look_up: str
    call: str
    declares: bool = False


#: Also for languages that nobody knows.
JAVASCRIPT: Final = Language(
    name="javascript",
    describe=signatures.describe_tool,
    listing="```ts\ndeclare const tools: {{\n{signatures}\n}}\n```",
    search="$search",
    look_up="$describe",
    call="one object, as in tools.{name}({{…}})",
)
_PYTHON: Final = Language(
    name="python",
    describe=python.describe_tool,
    listing="```python\n# on `tools`\n{signatures}\n```",
    search="_search",
    look_up="_describe",
    call="arguments by name, as in tools.{name}(field=…)",
    declares=True,
)
_LANGUAGES: Final = {
    "javascript": JAVASCRIPT,
    "typescript": JAVASCRIPT,
    "python": _PYTHON,
}


def find(language: str) -> Language | None:
    """What is known of a guest language; `None` if nothing is."""
    return _LANGUAGES.get(language)
