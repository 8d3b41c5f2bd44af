"""Finds wrong calls of bridges before a cell runs, with the type checker inside Monty.

Only certain errors count: a call of a bridge with missing, unknown or wrong arguments, a bridge
that does not exist, and a coroutine used as if it were its value. Everything else is left to
Python itself: annotations are not binding there, and a cell may well be right where a type
checker has doubts.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pydantic_monty

from interpstack import Bridge, BridgeSet, GuestError
from interpstack.guests import not_run
from interpstack_monty.offer import reachable, tree
from interpstack_monty.state import MontyState

__all__ = ["check", "stubs_for"]

#: The first line of the checked source: the name has no value, so that no code behind it runs.
_HALT: Final = "interpstack_halt"
#: Seconds that checking may take; a cell that takes longer runs unchecked.
_SECONDS: Final = 3.0
_SHOWN: Final = 5
#: Names of the classes that stand for namespaces: `tools.web` is `_Bridges_tools_DOT_web`.
_CLASS: Final = "_Bridges_"
_DOT: Final = "_DOT_"
_ARGUMENTS: Final = frozenset(
    {
        "missing-argument",
        "unknown-argument",
        "too-many-positional-arguments",
        "invalid-argument-type",
        "parameter-already-assigned",
    }
)
_COROUTINES: Final = frozenset(
    {
        "not-subscriptable",
        "not-iterable",
        "unresolved-attribute",
        "unsupported-operator",
        "invalid-argument-type",
    }
)
_CALLED: Final = re.compile(r"(?:bound method|function) `([\w.]+)`")
_MISFIT: Final = re.compile(r"Expected `([^`]*)`, found `([^`]*)`")
_SCALARS: Final = frozenset({"str", "int", "float", "bool", "bytes", "None"})
_HEADER: Final = (
    "from typing import Any, Literal, NotRequired, TypedDict\n"
    "from datetime import datetime\n"
    f"{_HALT}: Any\n"
)


def check(state: MontyState, source: str, cell: str) -> GuestError | None:
    """The certain error of a cell, if there is one.

    Args:
        state: Offers the bridges, and knows the globals.
        source: The cell.
        cell: The name of the cell, for the message.
    """
    declared = [bridge for bridge in reachable(state.bridges) if bridge.declaration]
    if not any(bridge.name.partition(".")[0] in source for bridge in declared):
        return None
    stubs = stubs_for(state.bridges, state.names())
    worker = state.workers.take_checker(stubs)
    try:
        with worker.watched(_SECONDS) as session:
            session.feed_start(f"{_HALT}\n{source}")
    except pydantic_monty.MontyTypingError as error:
        return _told(json.loads(error.display()), source, state.bridges, cell)
    except pydantic_monty.MontyError:
        return None  # no verdict: a syntax error, or the checker gave up
    finally:
        worker.release()
    return None


def stubs_for(bridges: BridgeSet, names: Sequence[str]) -> str:
    """Declarations of all names for cells: bridges as declared, other globals as `Any`."""
    classes: list[str] = []
    roots = [
        f"{name}: {_namespace(name, members, classes)}"
        if isinstance(members, Mapping)
        else _declared(name, members)
        for name, members in tree(bridges).items()
    ]
    taken = tree(bridges)
    others = [f"{n}: Any" for n in names if n.isidentifier() and n not in taken]
    return _HEADER + "\n".join([*classes, *roots, *others]) + "\n"


def _namespace(path: str, members: Mapping[str, Any], classes: list[str]) -> str:
    name = _CLASS + path.replace(".", _DOT)
    body = [
        f"{key}: {_namespace(f'{path}.{key}', value, classes)}"
        if isinstance(value, Mapping)
        else _as_method(_declared(key, value))
        for key, value in members.items()
    ]
    classes.append(f"class {name}:\n" + textwrap.indent("\n".join(body), "    "))
    return name


def _declared(name: str, bridge: Bridge) -> str:
    return bridge.declaration or f"{name}: Any"


def _as_method(declaration: str) -> str:
    return re.sub(r"(?m)^((?:async )?def \w+\()(\)?)", _with_self, declaration)


def _with_self(match: re.Match[str]) -> str:
    return match[1] + ("self)" if match[2] else "self, ")


def _told(
    found: Sequence[Mapping[str, Any]], source: str, bridges: BridgeSet, cell: str
) -> GuestError | None:
    lines = source.split("\n")
    certain = list(_certain(found, lines, bridges))
    if not certain:
        return None
    shown = [f"{cell}:{row}: {message}" for row, message in certain[:_SHOWN]]
    return GuestError("TypeError", not_run(shown, len(certain)))


def _certain(
    found: Sequence[Mapping[str, Any]], lines: Sequence[str], bridges: BridgeSet
) -> Iterator[tuple[int, str]]:
    rules = {str(item["code"]) for item in found}
    if "invalid-syntax" in rules:
        return
    for item in found:
        row, column = item["location"]["row"] - 1, item["location"]["column"]
        message = str(item["message"]).replace(_CLASS, "").replace(_DOT, ".")
        line = lines[row - 1] if 0 < row <= len(lines) else ""
        unpacked = line[column - 1 : column] == "*"
        if not unpacked and _is_certain(item["code"], message, bridges):
            hint = "; is an `await` missing?" if "`CoroutineType[" in message else ""
            yield row, message + hint


def _is_certain(rule: str, message: str, bridges: BridgeSet) -> bool:
    if rule in _COROUTINES and "`CoroutineType[" in message and " | " not in message:
        return True
    if rule == "unresolved-attribute":
        match = re.match(r"Object of type `([\w.]+)` has no attribute `(\w+)`", message)
        offered = {name for bridge in bridges for name in _prefixes(bridge.name)}
        return match is not None and match[1] in offered and f"{match[1]}.{match[2]}" not in offered
    called = _CALLED.search(message)
    if rule not in _ARGUMENTS or called is None or bridges.get(called[1]) is None:
        return False
    misfit = _MISFIT.search(message)
    return misfit is None or _misfits(misfit[1], misfit[2])


def _misfits(expected: str, given: str) -> bool:
    """Whether no value of the actual type can be valid.

    A container may hold the right items, and a text may be one of the allowed texts.
    """
    if given.startswith("Literal[") and " | " not in given:
        return True
    if given not in _SCALARS or "Literal[" in expected:
        return given == "None"
    return not (given == "float" and "int" in expected)


def _prefixes(name: str) -> Iterator[str]:
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count])
