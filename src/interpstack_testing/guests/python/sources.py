"""Sources that are hard to read, and that a host must still process in linear time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack.contracts.engine import Capability
from interpstack_testing.guests.guest import Attack, group, repeated

__all__ = ["ATTACKS", "SHAPES"]

#: What is repeated until a source has its size.
SHAPES: Final[Mapping[str, str]] = {
    "joined lines": "\\\n",
    "round brackets": "(",
    "square brackets": "[",
    "calls": "f()",
    "calls of calls": "()",
    "statements": "a;",
    "assignments": "a=1\n",
    "strings": '"" ',
    "open strings": '"""',
    "f-strings": 'f"{a}"\n',
    "open fields": 'f"{',
    "open formats": 'f"{a:',
    "comments": "#\n",
    "returns": "return ",
    "functions": "def f():\n return\n",
    "lambdas": "lambda ",
    "conditions": "if a: b\n",
    "sums": "1+",
    "negations": "not ",
    "attributes": ".a",
    "blank lines": " \n",
}

ATTACKS: Final[Mapping[str, Attack]] = group(
    "sources",
    repeated(SHAPES, "a=1\n", Capability.CPU_LIMIT),
)
