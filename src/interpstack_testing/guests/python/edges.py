"""Values at the limits of engines: each ends with a result or an error, and the next cell runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack.contracts.engine import Capability
from interpstack.contracts.limits import Limits
from interpstack_testing.guests.guest import VALUE, Attack, group

__all__ = ["ATTACKS"]

_TEXTS = {
    "repeated": "len('ab' * 2 ** 40)",
    "repeated by less": "len('ab' * -(2 ** 70))",
    "doubled": "t = 'a'\nwhile True: t += t",
    "ljust": "len('a'.ljust(2 ** 40))",
    "rjust": "len('a'.rjust(2 ** 62, 'b'))",
    "center": "len('a'.center(2 ** 63))",
    "zfill": "len('1'.zfill(2 ** 40))",
    "format": "len(f'{1:{2 ** 40}}')",
    "precision": "len('%.*f' % (2 ** 31 - 1, 1.0))",
    "replaced": "len(('a' * 50_000).replace('a', 'b' * 50_000))",
    "replaced, nothing": "len('a'.replace('', 'b' * 50_000_000))",
    "joined": "len(('ab' * 10_000).join(['c'] * 1_000_000))",
    "split": "len(('a,' * 4_000_000).split(','))",
    "upper": "len(('\\ufb03' * 3_000_000).upper())",
    "tabs": "len(('\\t' * 1_000_000).expandtabs(2 ** 31))",
    "translated": "len(('a' * 100_000).translate({97: 'b' * 100_000}))",
    "encoded": "len(('\\U0010ffff' * 1_000_000).encode('utf-32'))",
    "shown": "len(repr('\\x00' * 4_000_000))",
}

_NUMBERS = {
    "power": "len(str(2 ** (2 ** 40)))",
    "powers": "n = 3\nwhile True: n = n * n",
    "shift": "(1 << 2 ** 40) > 0",
    "shift by less": "1 << -1",
    "digits": "len(str(2 ** 400_000))",
    "parsed": "int('9' * 1_000_000) > 0",
    "parsed, base": "int('f' * 4_000_000, 16) > 0",
    "modular power": "pow(3, 10 ** 5000, 10 ** 5000) >= 0",
    "factorial": "import math\nmath.factorial(10 ** 6) > 0",
    "float": "float(10 ** 400)",
    "rounded": "round(1e308, -(2 ** 31))",
    "no number": "int(float('inf'))",
    "hash": "hash(2 ** 3_000_000)",
}

_LISTS = {
    "repeated": "len([0] * 2 ** 40)",
    "doubled": "a = [1]\nwhile True: a += a",
    "of a range": "len(list(range(10 ** 12)))",
    "length of a range": "len(range(10 ** 30))",
    "slice": "len(list(range(10))[-(2 ** 80):2 ** 80:2 ** 70])",
    "slice of no step": "[1][::0]",
    "inserted": "a = []\nfor n in range(10 ** 7): a.insert(0, n)",
    "set": "len(set(range(10 ** 7)))",
    "dict": "len(dict.fromkeys(range(10 ** 7)))",
    "bytes": "len(bytes(2 ** 40))",
    "bytes repeated": "len(b'ab' * 2 ** 40)",
    "bytes of less": "bytes(-1)",
    "sorted": "len(sorted(range(5_000_000), key=lambda n: -n))",
    "summed": "sum([[0]] * 30_000, [])[0]",
    "unpacked": "max(*[0] * 1_000_000)",
    "zipped": "len(list(zip(*[range(10 ** 6)] * 100)))",
    "nested": "a = []\nfor _ in range(100_000): a = [a]\nlen(repr(a))",
    "compared": "a, b = [], []\nfor _ in range(100_000): a, b = [a], [b]\na == b",
}

_PARSERS = {
    "JSON, nested": "import json\njson.loads('[' * 100_000 + ']' * 100_000)",
    "JSON, long": "import json\nlen(json.loads('[' + '1,' * 3_000_000 + '1]'))",
    "JSON, number": "import json\njson.loads('9' * 1_000_000) > 0",
    "JSON, written": "import json\nlen(json.dumps(['\\x00' * 1_000_000] * 9))",
    "regex, made": "import re\nre.compile('a' * 3_000_000) is None",
    "regex, counted": "import re\nre.compile('(?:a{1000}){1000}') is None",
    "regex, nested": "import re\nre.compile('(' * 50_000 + ')' * 50_000) is None",
    "regex, back": "import re\nre.match('(a*)*b', 'a' * 30 + 'c')",
}

_PASSED = {
    "bytes": "await host.echo(bytes(12_000_000))",
    "bytes beyond the limit": "await host.echo(bytes(13_000_000))",
    "text": "await host.echo('x' * 17_000_000)",
    "integer": "await host.echo(2 ** 1_000_000)",
    "list": "await host.echo([1.5] * 500_000)",
    "shared": "a = ['x']\nfor _ in range(40): a = [a, a]\nawait host.echo(a)",
}

#: Errors about exceeded limits.
_ENDS: Final = (
    VALUE,
    "OutOfMemory",
    "Timeout",
    "MemoryError",
    "OverflowError",
    "RangeError",
    "RecursionError",
    "TimeoutError",
    "TypeError",
    "ValueError",
    "JSONDecodeError",
    "error",  # of regular expressions
    "PatternError",
)
#: An engine may lack a function, and say so.
_LACKS: Final = (
    "AttributeError",
    "ImportError",
    "ModuleNotFoundError",
    "NameError",
    "NotImplementedError",
    "SyntaxError",
)
_LIMITS: Final = Limits(cpu_seconds=0.5, wall_seconds=20, memory_bytes=16 * 2**20)


def _edges(name: str, sources: Mapping[str, str]) -> dict[str, Attack]:
    return group(
        name,
        {
            key: Attack(source, (*_ENDS, *_LACKS), limits=_LIMITS, needs=Capability.MEMORY_LIMIT)
            for key, source in sources.items()
        },
    )


ATTACKS: Final[Mapping[str, Attack]] = {
    **_edges("edges of texts", _TEXTS),
    **_edges("edges of numbers", _NUMBERS),
    **_edges("edges of lists", _LISTS),
    **_edges("edges of parsers", _PARSERS),
    **_edges("edges that are passed", _PASSED),
}
