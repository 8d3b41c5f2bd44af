"""What the command line knows of guest languages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from interpstack_cli.repl.blocks import Blocks
from interpstack_cli.repl.chunks import Follower
from interpstack_cli.repl.nesting import Nesting

__all__ = ["JAVASCRIPT", "LANGUAGES", "Language", "find"]


@attrs.frozen(kw_only=True)
class Language:
    """What differs from language to language.

    Attributes:
        name: As engines call it; also its name in Pygments.
        extensions: Of its files; what is saved has the first.
        follower: Tells which lines belong together.
        whole: When that is so, for the help of the REPL.
        words: Offered for completion.
        joining: Beginnings that would join a statement to the one in the line before it.
        call: The arguments of a call, for help; `{fields}` stands for them.
        optional: A field that may be left out, for help; `{field}` stands for it.
        indent: What a line is indented by after one that opens something.
        openers: Ends of such lines.
        leavers: First words of lines that end a block.
        quiet: Whether a prompt says nothing of a statement without a value.
        extra: The extra that brings an engine, if the package alone has none.
    """

    name: str
    extensions: tuple[str, ...]
    follower: Callable[[], Follower]
    whole: str
    words: tuple[str, ...]
    joining: tuple[str, ...] = ()
    call: str
    optional: str
    indent: str = "  "
    openers: tuple[str, ...] = ("(", "[", "{")
    leavers: tuple[str, ...] = ()
    quiet: bool = False
    extra: str = ""


#: Also for languages that nobody knows.
JAVASCRIPT: Final = Language(
    name="javascript",
    extensions=(".js", ".mjs", ".cjs"),
    follower=Nesting,
    whole="once its brackets are closed",
    words=(
        *("Array", "Boolean", "Date", "Error", "JSON", "Map", "Math", "Number", "Object"),
        *("Promise", "RegExp", "Set", "String", "async", "await", "class", "const", "else"),
        *("false", "for", "function", "if", "let", "new", "null", "of", "return", "throw"),
        *("true", "try", "typeof", "undefined", "while"),
    ),
    joining=tuple("([`/+-*,."),
    call="{{{fields}}}",
    optional="{field}?",
)
_TYPESCRIPT: Final = attrs.evolve(JAVASCRIPT, name="typescript", extensions=(".ts", ".mts", ".cts"))
_PYTHON: Final = Language(
    name="python",
    extensions=(".py",),
    follower=Blocks,
    whole="once its brackets are closed, a block after an empty line",
    words=(
        *("Exception", "False", "None", "True", "ValueError", "and", "asyncio", "await", "bool"),
        *("break", "class", "continue", "def", "dict", "elif", "else", "enumerate", "except"),
        *("finally", "float", "for", "from", "if", "import", "int", "isinstance", "lambda"),
        *("len", "list", "not", "pass", "print", "raise", "range", "return", "set", "sorted"),
        *("str", "sum", "tuple", "while", "with", "zip"),
    ),
    call="{fields}",
    optional="{field}=…",
    indent="    ",
    openers=("(", "[", "{", ":"),
    leavers=("break", "continue", "pass", "raise", "return"),
    quiet=True,
    extra="monty",
)
LANGUAGES: Final = (JAVASCRIPT, _TYPESCRIPT, _PYTHON)


def find(name: str) -> Language:
    """What is known of a guest language."""
    return next((language for language in LANGUAGES if language.name == name), JAVASCRIPT)
