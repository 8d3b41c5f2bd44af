"""Checks a cell before anything of it runs: calls of bridges that cannot succeed.

The tree tells the names and the literals of a call; the bridges tell what they would refuse. The
parser has read the cell by then for its preparation, or reads it for that here: small sources are
parsed once. Where tree and bridges do not decide, nothing is said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.errors import EngineFailure
from interpstack.contracts.protocol import Cell, GuestError
from interpstack.guests import EarlyFault, missing_function
from interpstack.values.decoding import UNDEFINED
from interpstack.values.known_parts import UNKNOWN
from interpstack_javascript.cells import CellTimeout, ThreadClock, escape
from interpstack_javascript.errors import SourceError
from interpstack_javascript.named_calls import NamedCall, NamedCalls, calls_in
from interpstack_javascript.preparation import index_of, read, read_as_module

__all__ = ["faults_of", "is_hidden"]

#: Seconds of computing for a cell.
_SECONDS: Final = 0.25
#: Members that promises inherit.
_OF_PROMISES: Final = frozenset({
    "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__",
    "catch", "constructor", "finally", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable",
    "then", "toJSON", "toLocaleString", "toString", "valueOf",
})  # fmt: skip
#: Words of code that may add members to promises.
_ADDING: Final = ("prototype", "Prototype", "__proto__")
#: Words of code that may make a variable without declaring it.
_GLOBAL: Final = ("globalThis", "this")


def faults_of(
    cell: Cell,
    bridges: BridgeSet,
    roots: frozenset[str],
    members: Callable[[Sequence[str]], Sequence[str]],
) -> Sequence[EarlyFault]:
    """The calls of a cell that cannot succeed.

    Args:
        cell: The cell.
        bridges: The functions on offer.
        roots: The first parts of their names.
        members: See `CellCheck.refusal`.
    """
    if escape(cell.source) != cell.source:
        return ()
    found = _calls(cell.source, cell.language, roots)
    return list(_faults(found, cell.source, bridges, members))


def _calls(source: str, language: str | None, roots: frozenset[str]) -> NamedCalls:
    """The calls in a cell, whose tree the parser remembers if it is small."""
    clock = ThreadClock(_SECONDS, lambda: False)
    try:
        reading = read(source, language, clock)
        found = calls_in(reading.program, source, roots)
        if found.names_await:
            module = read_as_module(source, reading, clock)
            found = found if module is None else calls_in(module.program, source, roots)
    except (SourceError, CellTimeout):  # which the run will tell
        return NamedCalls()
    return found


def _faults(
    found: NamedCalls,
    source: str,
    bridges: BridgeSet,
    members: Callable[[Sequence[str]], Sequence[str]],
) -> Iterator[EarlyFault]:
    roots = {call.path[0] for call in found.calls}
    hidden = {root for root in roots if is_hidden(root, source, bridges, members)}
    for call in found.calls:
        if call.path[0] in hidden:
            continue
        message = _unknown_name(call, found, bridges)
        if message is None and call.member and not any(word in source for word in _ADDING):
            message = _unawaited(call, bridges, members)
        error = GuestError("TypeError", message) if message else None
        if message is None:
            error = _wrong_input(call, bridges)
        if error is not None:
            yield EarlyFault(index_of(source, call.start), error)


def is_hidden(
    root: str,
    source: str,
    bridges: BridgeSet,
    members: Callable[[Sequence[str]], Sequence[str]],
) -> bool:
    """Whether a variable of an earlier cell, or one that is not declared, may hide a namespace."""
    inside = [one for one in bridges if one.name.startswith(f"{root}.") and not one.hidden]
    if not (inside and all(one.yields for one in inside)):
        return False
    if any(word in source for word in _GLOBAL):
        return True
    try:
        found = members((root,))
    except EngineFailure:
        return True
    return not all(one.name.split(".")[1] in found for one in inside)


def _unknown_name(call: NamedCall, found: NamedCalls, bridges: BridgeSet) -> str | None:
    """The words about a name that is not there; `None` for one that is."""
    message = missing_function(call.path, bridges)
    if not message:
        return None
    is_meant = call.is_optional or call.raises_unseen or found.asks_about(call)
    return "" if is_meant else message


def _unawaited(
    call: NamedCall, bridges: BridgeSet, members: Callable[[Sequence[str]], Sequence[str]]
) -> str | None:
    """The words about a member that the promise of a call lacks; `None` if it may have it."""
    name, member = ".".join(call.path), call.member
    bridge = bridges.get(name)
    if member in _OF_PROMISES or call.raises_unseen:
        return None
    if bridge is None or bridge.hidden or not bridge.awaited:
        return None
    try:
        if member in members(("Promise", "prototype")):  # the guest has added it
            return None
    except EngineFailure:
        return None
    step = f"[{member}]" if call.is_index and member.isdecimal() else f".{member}"
    lacks = json.dumps(member, ensure_ascii=False)
    return f"a Promise of {name} has no {lacks}; write (await {name}(…)){step}"


def _wrong_input(call: NamedCall, bridges: BridgeSet) -> GuestError | None:
    bridge = bridges.get(".".join(call.path))
    if bridge is None or bridge.hidden or not bridge.awaited or call.fails_unseen:
        return None
    if not bridge.positional and _is_surplus(call.second):
        return GuestError(
            "TypeError",
            f"{bridge.name} takes one argument, with all fields in it; another one would have no "
            "effect",
        )
    return bridge.fault(call.value, bridges.language)


def _is_surplus(second: Any) -> bool:
    """Whether a second argument is none that methods of lists pass to their callbacks."""
    is_number = isinstance(second, (int, float)) and not isinstance(second, bool)
    return second is not UNDEFINED and second is not UNKNOWN and not is_number
