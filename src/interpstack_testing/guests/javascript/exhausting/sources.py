"""Sources that are hard to read, and that a host must still process in linear time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack.engine import Capability
from interpstack.limits import Limits
from interpstack_testing.guests.guest import ANY_ERROR, VALUE, Attack, group

__all__ = ["ATTACKS", "SHAPES", "source_of"]

#: What is repeated until a source has its size.
SHAPES: Final[Mapping[str, str]] = {
    "square brackets": "[",
    "round brackets": "(",
    "curly brackets": "{",
    "calls": "f()",
    "calls of calls": "()",
    "conditions": "if(a)",
    "objects": "({a:1});",
    "templates": "`${1}`;",
    "open templates": "`${",
    "classes": "class A{};",
    "open classes": "class extends ",
    "functions": "function f(){}",
    "arrows": "a=>",
    "declarations": "let b=1\n",
    "constants": "const {c}=1;",
    "loops": "do{}while(1)",
    "imports": "import d from 'd'\n",
    "open imports": "import {",
    "calls of import": "import(",
    "comments": "/**/",
    "open comments": "/*",
    "regular expressions": "a=/[/]/;",
    "open regular expressions": "=/[",
    "divisions": "a/",
    "strings": '"\\"";',
    "escapes": "\\",
    "sums": "1+",
    "statements": "a;",
    "awaits": "await a;",
    "spaces": " " * 40 + "let",
    "line breaks": "\n",
    "NULs": "\0",
    "comments of HTML": "<!--`\n",
    "arrows of HTML": "-->",
    "labels": "a:{}",
    "dots": ". let",
}
_LIMITS: Final = Limits(cpu_seconds=0.5, wall_seconds=20)
_BYTES: Final = 300_000


def source_of(shape: str, size: int, before: str = "let a=1;") -> str:
    """A source of about that many characters, which a host has something to do with."""
    return before + shape * (size // len(shape))


def _attacks(before: str, language: str | None = None) -> dict[str, Attack]:
    needs = Capability.TYPESCRIPT if language else Capability.CPU_LIMIT
    return {
        name: Attack(
            source_of(shape, _BYTES, before),
            (VALUE, ANY_ERROR),
            limits=_LIMITS,
            language=language,
            needs=needs,
        )
        for name, shape in SHAPES.items()
    }


ATTACKS: Final[Mapping[str, Attack]] = {
    **group("sources", _attacks("let a=1;")),
    **group("sources that await", _attacks("await 1;let a=")),
    **group("typed sources", _attacks("let a:number=1;", "typescript")),
}
