"""Sources that are hard to read, and that a host must still process in linear time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack.contracts.engine import Capability
from interpstack.contracts.limits import Limits
from interpstack_testing.guests.guest import VALUE, Attack, group, repeated

__all__ = ["ATTACKS", "SHAPES"]

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


def _attacks(before: str, language: str | None = None) -> dict[str, Attack]:
    needs = None if language else Capability.CPU_LIMIT
    return repeated(SHAPES, before, needs, language)


_WIDE_LIMITS: Final = Limits(cpu_seconds=5, wall_seconds=20)
#: Single expressions with more parts than an engine may take.
_WIDE: Final[Mapping[str, str]] = {
    "template": f"`{'${1}' * 70_000}`.length",
    "tagged template": f"String.raw`{'${1}' * 70_000}`.length",
    "call": f"Math.max({'1,' * 70_000}1)",
    "list": f"[{'1,' * 70_000}].length",
    "parameters": f"(function ({','.join(f'a{n}' for n in range(70_000))}) {{}})()",
}

ATTACKS: Final[Mapping[str, Attack]] = {
    **group(
        "wide sources",
        {
            k: Attack(v, (VALUE, "SyntaxError", "RangeError"), limits=_WIDE_LIMITS)
            for k, v in _WIDE.items()
        },
    ),
    **group("sources", _attacks("let a=1;")),
    **group("sources that await", _attacks("await 1;let a=")),
    **group("typed sources", _attacks("let a:number=1;", "typescript")),
}
