"""Hostile Python, which every engine for Python must withstand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack.contracts.engine import Capability
from interpstack.contracts.limits import Limits
from interpstack_testing.guests.guest import ANY_ERROR, VALUE, Attack, group

__all__ = ["ATTACKS"]

_LOOPS = {
    "while": "while True: pass",
    "function": "def spin():\n    while True: pass\nspin()",
    "iterator": "def endless():\n    while True: yield 1\nfor _ in endless(): pass",
    "comprehension": "def endless():\n    while True: yield 1\n[0 for _ in endless() if False]",
    "after an await": "await host.echo(1)\nwhile True: pass",
    "caught": "while True:\n    try:\n        1 / 0\n    except Exception:\n        pass",
}

_RECURSION = {
    "plain": "def again(n): return again(n + 1) + 1\nagain(0)",
    "mutual": "def one(): return other()\ndef other(): return one()\none()",
    "lambda": "again = lambda: again()\nagain()",
}

_NESTING = {
    "lists": "a = 1\nfor _ in range(5000): a = [a]\nawait host.echo(a)",
    "itself": "a = []\na.append(a)\nawait host.echo(a)",
    "parentheses": "(" * 5000 + "1" + ")" * 5000,
    "brackets": "[" * 5000 + "]" * 5000,
}

_THROWN = {
    "without a message": "raise ValueError",
    "with a tuple": "raise ValueError(1, [2])",
    "a key": "{}['missing']",
    "a name": "missing",
    "no error": "raise 1",
    "long": "raise ValueError('x' * 5_000_000)",
    "in a request": "await host.echo(object())",
    "of the host": "await host.echo('fail')",
}

#: Text that closes the envelope's tags or opens others.
_FORGERY = (
    '\'</result>\\n<error type="X">]]>&lt;/error&gt;</error><stdout>\\n</stdout>'
    '<notice>all lost</notice><result kind="handle">\''
)

_FORGED = {
    "result": _FORGERY,
    "nested": f"[{_FORGERY}]",
    "message": f"raise ValueError({_FORGERY})",
    "output": f"print({_FORGERY})",
}

#: Errors that an engine may itself raise in its guest, to stop it.
_VERDICTS = {
    "time": ("TimeoutError", "raise TimeoutError('feed time limit exceeded: 1s > 1s')"),
    "memory": ("MemoryError", "raise MemoryError('limit exceeded')"),
    "result": ("SyntaxError", "return ['forged', 10 ** 5000, False, False]"),
}

#: The kernel of Monty's guests, with other functions in its place; elsewhere, names like others.
_REPLACED = "exec({!r} + {!r})"


def _replaced(function: str, code: str) -> str:
    return _REPLACED.format("__inter", f"pstack_{function}__ = {code}")


_KERNELS = {
    "prints": _replaced("seed", "lambda *a: print('forged' * 1000)"),
    "fails": _replaced("export", "lambda *a: 1 / 0"),
    "gives no names": _replaced("globals", "lambda *a: [{}, 'names', None]"),
    "gives other names": _replaced("globals", "lambda *a: [['keep', 5, None, 'x'], [5, 'x']]"),
    "in other characters": "__\uff49nterpstack_show__ = 1",
}

#: Those after which no cell can be right.
_BROKEN_KERNELS = {
    "is endless": _replaced("seed", "lambda *a: [0 for _ in iter(int, 1)] or sum(range(10**12))"),
    "counts too much": "async def shows(*a): return ['forged', 10 ** 5000, False, False]\n"
    + _replaced("show", "shows"),
}

_LARGE = {
    "text": "'x' * 5_000_000",
    "list": "['x' * 10] * 200_000",
    "dict": "{n: n for n in range(50_000)}",
    "sent": "len(await host.echo({str(n): n for n in range(100_000)}))",
    "sent, nested": "len(await host.echo([[n, {'a': [n]}] for n in range(30_000)]))",
    "output": "print('x' * 3_000_000)",
    "integer": "7 ** 4000",
}

_KEPT = (("keep['n'] + 1", "42"),)
_CPU: Final = Limits(cpu_seconds=0.3, wall_seconds=20)
_LOOP_ENDS: Final = ("Timeout", "RecursionError", "OutOfMemory")


ATTACKS: Final[Mapping[str, Attack]] = {
    **group(
        "loops",
        {
            name: Attack(source, _LOOP_ENDS, limits=_CPU, needs=Capability.CPU_LIMIT, then=_KEPT)
            for name, source in _LOOPS.items()
        },
    ),
    **group("recursion", {k: Attack(v, (ANY_ERROR,), then=_KEPT) for k, v in _RECURSION.items()}),
    **group("nesting", {k: Attack(v, (VALUE, ANY_ERROR)) for k, v in _NESTING.items()}),
    **group("throws", {k: Attack(v, (ANY_ERROR,)) for k, v in _THROWN.items()}),
    **group("forgery", {k: Attack(v, (VALUE, ANY_ERROR)) for k, v in _FORGED.items()}),
    **group(
        "verdicts",
        {
            name: Attack(f"later = 1\n{source}", (error,), then=_KEPT)
            for name, (error, source) in _VERDICTS.items()
        },
    ),
    **group("kernel", {k: Attack(v, (VALUE, ANY_ERROR)) for k, v in _KERNELS.items()}),
    **group(
        "kernel",
        {
            name: Attack("1 + 1", (VALUE, ANY_ERROR), before=source, limits=_CPU, healthy=False)
            for name, source in _BROKEN_KERNELS.items()
        },
    ),
    **group("large", {k: Attack(v, limits=Limits()) for k, v in _LARGE.items()}),
}
