"""Python as prompts, tools and editors need to know it."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from typing import Final

from interpstack_core import EditorRules, GuestLanguage, HostTool, PromptWords
from interpstack_python.blocks import Blocks
from interpstack_python.signatures import describe_tool

__all__ = ["PYTHON"]

_FOREIGN: Final = re.compile(r"[-\s.]+")


class _Python(GuestLanguage):
    def identifier(self, name: str) -> str:
        """The name itself, with `_` for hyphens, dots and spaces, and after a keyword."""
        made = _FOREIGN.sub("_", name.strip("- ."))
        return f"{made}_" if keyword.iskeyword(made) else made

    def call(self, function: str, fields: Mapping[str, str]) -> str:
        listed = ", ".join(f"{name}={value}" for name, value in fields.items())
        return f"{function}({listed})"

    def usage(self, function: str, fields: Mapping[str, bool]) -> str:
        listed = [name if needed else f"{name}=…" for name, needed in fields.items()]
        return f"{function}({', '.join(['*', *listed] if listed else [])})"

    def signature(self, name: str, tool: HostTool) -> str:
        return describe_tool(name, tool)

    def listing(self, namespace: str, signatures: Iterable[str]) -> str:
        return "\n".join(["```python", f"# on `{namespace}`", *signatures, "```"])


PYTHON: Final = _Python(
    name="python",
    title="Python",
    aliases=("py",),
    endings=(".py",),
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
        printing="`print` prints",
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
    declares=True,
    endless="while True: pass",
    hoard="hog = []\nwhile True: hog.append([7] * 10000)",
)
