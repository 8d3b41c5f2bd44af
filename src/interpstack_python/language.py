"""Python as prompts, tools and editors need to know it."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path, PurePath
from types import NoneType
from typing import Any, Final
from uuid import UUID

from interpstack import EditorRules, GuestLanguage, HostTool, PromptWords
from interpstack_python.blocks import Blocks
from interpstack_python.literals import own_value
from interpstack_python.signatures import describe_fields, describe_tool

__all__ = ["PYTHON"]

_FOREIGN: Final = re.compile(r"[-\s.]+")
#: Built-ins of the language, without those that only an interactive Python has.
_BUILTINS: Final = frozenset(dir(builtins)) - {
    *("copyright", "credits", "display", "exit", "get_ipython", "help", "license", "quit")
}


class _PythonLanguage(GuestLanguage):
    def identifier(self, name: str) -> str:
        """The name itself, with `_` for hyphens, dots and spaces, and after a keyword."""
        made = _FOREIGN.sub("_", name.strip("- ."))
        return f"{made}_" if keyword.iskeyword(made) else made

    def name_fault(self, name: str) -> str:
        """Refuse keywords and other characters in any part, and built-ins as first part."""
        parts = name.split(".")
        wrong = next((part for part in parts if keyword.iskeyword(part)), None)
        if wrong is not None:
            return f"{wrong!r} is a keyword of Python; use another word"
        wrong = next((part for part in parts if not part.isidentifier()), None)
        if wrong is not None:
            return f"{wrong!r} is not an identifier of Python"
        if parts[0].startswith("__"):
            return "Python gives names that begin with '__' a meaning of their own"
        if parts[0] in _BUILTINS:
            return f"it would replace {parts[0]!r}, a built-in of Python"
        return ""

    def literal(self, value: Any) -> str:
        return repr(own_value(value))

    def call(self, function: str, fields: Mapping[str, str]) -> str:
        listed = ", ".join(f"{name}={value}" for name, value in fields.items())
        return f"{function}({listed})"

    def usage(self, function: str, fields: Mapping[str, bool]) -> str:
        listed = [name if needed else f"{name}=…" for name, needed in fields.items()]
        return f"{function}({', '.join(['*', *listed] if listed else [])})"

    def fields(self, tool: HostTool) -> str:
        return describe_fields(tool)

    def signature(self, name: str, tool: HostTool) -> str:
        return describe_tool(name, tool)

    def listing(self, namespace: str, signatures: Iterable[str]) -> str:
        return "\n".join(["```python", f"# on `{namespace}`", *signatures, "```"])


PYTHON: Final = _PythonLanguage(
    name="python",
    title="Python",
    aliases=("py",),
    endings=(".py",),
    fences=("ipython", "py3", "python3"),
    words=PromptWords(
        cells="Top-level `await` works; a coroutine as last expression is awaited.",
        modules="packages",
        arguments="arguments by name",
        calling="Arguments go by name, as in `await tools.name(field=value)`.",
        waiting="await {call}",
        asking='{function}("{text}")',
        together="`await` every call; run independent ones together with "
        "`await asyncio.gather(…)`.",
        failing="A failed call raises a `RuntimeError` that begins with `ToolError`; catch it to "
        "go on. `gather` fails with the first failure.",
        each="await asyncio.gather(*[{function}(…) for item in items])",
        job_failing="A failed subagent raises an exception, and fails a `gather`; catch it in an "
        "`async def` of your own to go on with the others.",
        mapping="a dictionary",
        printing="`print`",
        unknown="Any",
    ),
    editor=EditorRules(
        follower=Blocks,
        whole="once its brackets are closed, a block after an empty line",
        words=(
            *("Exception", "False", "None", "True", "ValueError", "and", "asyncio", "await"),
            *("bool", "break", "class", "continue", "def", "dict", "elif", "else", "enumerate"),
            *("except", "finally", "float", "for", "from", "if", "import", "int", "isinstance"),
            *("lambda", "len", "list", "not", "pass", "print", "raise", "range", "return", "set"),
            *("sorted", "str", "sum", "tuple", "while", "with", "zip"),
        ),
        indent="    ",
        openers=("(", "[", "{", ":"),
        leavers=("break", "continue", "pass", "raise", "return"),
        quiet=True,
    ),
    kinds={
        str: "a string",
        bool: "True or False",
        int: "a whole number",
        float: "a number",
        bytes: "bytes",
        datetime: "a datetime, or its text in ISO 8601",
        date: "a date, or its text in ISO 8601",
        time: "a time as text in ISO 8601",
        timedelta: "a duration as text in ISO 8601",
        Path: "a path as text",
        PurePath: "a path as text",
        UUID: "a UUID as text",
        Decimal: "a number, or a decimal number as text",
        NoneType: "None",
        list: "a list",
        set: "a set or a list",
        dict: "a dictionary",
    },
    declares=True,
    endless="while True: pass",
    hoard="hog = []\nwhile True: hog.append([7] * 10000)",
)
