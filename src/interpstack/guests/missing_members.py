"""Errors of code that calls a function that its namespace does not have.

Engines word such an error in many ways, and QuickJS leaves out the name: `not a function`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

import attrs

from interpstack.checks import listed
from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.protocol import Cell, GuestError

__all__ = ["naming_missing"]

#: How engines say that a value is not a function, or that a member is missing.
_WORDINGS: Final = ("not a function", "has no attribute", "of undefined")
#: The end of a line of a stack: the line in the source, and in most engines the column.
_AT: Final = r":(\d{1,9})(?::\d{1,9})?\)?$|:(\d{1,9}) in \S+$"
#: Members of a namespace, as `.name` or `["name"]`.
_MEMBERS: Final = r"""(?:\s*+\??\.\s*+[\w$]++|\s*+\[\s*+(?:"[\w$]++"|'[\w$]++')\s*+\])++"""
_NAME: Final = r"[\w$]+"
#: Lines before and after the one that the stack names; calls may span lines.
_AROUND: Final = 2
#: Characters and members that are looked through, at most.
_CHARS: Final = 20_000
_LOOKED_AT: Final = 200
#: Functions that an error lists where none is near.
_LISTED: Final = 8


def naming_missing(error: GuestError, cell: Cell, bridges: BridgeSet | None) -> GuestError:
    """The error of a cell, which names the function that a namespace of bridges does not have.

    Args:
        error: The error that ended the cell.
        cell: The cell, as the user wrote it.
        bridges: The functions on offer.
    """
    if bridges is None or not any(wording in error.message for wording in _WORDINGS):
        return error
    names = [bridge.name for bridge in bridges if not bridge.hidden]
    shown = [bridge.name for bridge in bridges if bridge.listed and not bridge.hidden]
    for path in _paths(_text_around(error, cell), names):
        space, missing = _missing(path, names)
        if not missing:
            continue
        said = re.search(rf"(?<![\w$]){re.escape(missing)}(?![\w$])", error.message)
        says = "" if said else f": {space} has no {missing!r}"
        return attrs.evolve(error, message=error.message + says + _hint(space, path, shown))
    return error


def _text_around(error: GuestError, cell: Cell) -> str:
    """The lines of the cell at which the error came about; empty if the stack does not say."""
    top = error.stack.lstrip("\n").partition("\n")[0]
    found = re.search(_AT, top)
    if found is None or f"{cell.name}:" not in top:
        return ""
    row = int(found[1] or found[2]) - 1
    lines = cell.source.split("\n")[max(0, row - _AROUND) : row + _AROUND + 1]
    return "\n".join(lines)[:_CHARS]


def _paths(text: str, names: list[str]) -> Iterator[str]:
    """The members of namespaces that the text names, as in `tools.price`."""
    roots = {name.partition(".")[0] for name in names if "." in name}
    if not text or not roots:
        return
    either = "|".join(map(re.escape, sorted(roots)))
    pattern = re.compile(rf"(?<![\w$.])(?:{either})(?![\w$]){_MEMBERS}")
    for found in islice(pattern.finditer(text), _LOOKED_AT):
        yield ".".join(re.findall(_NAME, found[0]))


def _missing(path: str, names: list[str]) -> tuple[str, str]:
    """The namespace and its missing member; two empty texts if nothing on the path is missing."""
    parts = path.split(".")
    for count in range(1, len(parts) + 1):
        known = ".".join(parts[:count])
        if known in names:
            return "", ""
        if not any(name.startswith(f"{known}.") for name in names):
            return ".".join(parts[: count - 1]), parts[count - 1]
    return "", ""


def _hint(space: str, path: str, shown: list[str]) -> str:
    from difflib import get_close_matches  # loaded for an error only

    inside = [name for name in shown if name.startswith(f"{space}.")]
    start = len(space) + 1
    spelt = {_bare(name[start:]): name for name in inside}
    near = get_close_matches(_bare(path[start:]), spelt, 1)
    if near:
        return f"; did you mean {spelt[near[0]]}?"
    return f"; it has {listed(inside, _LISTED)}" if inside else ""


def _bare(name: str) -> str:
    return name.replace("_", "").casefold()
