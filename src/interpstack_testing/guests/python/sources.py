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
_LIMITS: Final = Limits(cpu_seconds=0.5, wall_seconds=20)
_BYTES: Final = 300_000


def source_of(shape: str, size: int, before: str = "a=1\n") -> str:
    """A source of about that many characters, which a host has something to do with."""
    return before + shape * (size // len(shape))


ATTACKS: Final[Mapping[str, Attack]] = group(
    "sources",
    {
        name: Attack(
            source_of(shape, _BYTES),
            (VALUE, ANY_ERROR),
            limits=_LIMITS,
            needs=Capability.CPU_LIMIT,
        )
        for name, shape in SHAPES.items()
    },
)
