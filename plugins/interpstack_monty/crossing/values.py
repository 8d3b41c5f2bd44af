"""Conversion of values between wire trees and the types of Monty's client.

A tuple, a set and a frozenset of the guest become a list and sets on the wire, as for every
engine; those of saved variables are marked, and come back. JavaScript kinds that Python lacks take
the nearest form: `undefined` is `None`, a Map a dictionary (a list of pairs if its keys cannot be
hashed, or are equal in Python, as 1 and true are), a Set a set (or a list). An array that is a key,
or an item of a set, is a tuple. A value that stays with the host is a dictionary of what is known
of it, with its id under `$standin`.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from typing import Any, Final

from interpstack import (
    UNDEFINED,
    BigInt,
    EngineFailure,
    ErrorValue,
    GuestError,
    MapValue,
    SetValue,
    StandIn,
    UnsupportedValue,
    decode,
    encode,
)
from interpstack.values import read_json
from interpstack_monty.crossing.errors import exception_for

__all__ = ["Room", "answer", "from_guest", "to_guest"]


#: How the JSON of a set begins: sets stand where they would, sorted by their JSON.
_SET_BEGINS: Final = '{"$": "set", "v": ['
#: The key of the id of a value that stays with the host.
_STAND_IN: Final = "$standin"
#: Containers inside containers that the codec takes.
_DEPTH: Final = 200


class Room:
    """The remaining room for a guest's values as wire trees.

    A wire tree has no shared parts: a few lists that hold each other twice would fill the host's
    memory.

    Args:
        size: In bytes.
        item: Bytes for every item, in addition to texts and large numbers.

    Attributes:
        orders: Texts by which containers in sets are sorted, by the containers' identity.
    """

    def __init__(self, size: int, item: int = 2) -> None:
        self._left = size
        self._item = item
        self.orders: dict[int, str] = {}

    def take(self, size: int = 0) -> None:
        """Count an item.

        Raises:
            UnsupportedValue: The room is used up.
        """
        self._left -= self._item + size
        if self._left < 0:
            raise UnsupportedValue("it is too large")


def from_guest(value: Any, room: Room, *, exact: bool = False) -> Any:
    """The wire tree of a value that Monty's client gave.

    Args:
        value: The value.
        room: The room that is left.
        exact: Mark tuples and frozen sets, which come back as such to a guest in Python.

    Raises:
        UnsupportedValue: It has no form, is too large, or is nested too deep.
    """
    return encode(_plain(value, 0, room, exact), tuples=exact)


def _plain(value: Any, depth: int, room: Room, exact: bool) -> Any:
    """The same value without exceptions, and with sets in an order."""
    if isinstance(value, (str, bytes)):
        room.take(len(value))
        return value
    if isinstance(value, int):
        room.take(value.bit_length() // 8)
        return value
    room.take()
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, dt.datetime):
        return _moment(value)
    if isinstance(value, BaseException):
        # The text of a `KeyError` is that of its key as a literal.
        whole = exact and len(value.args) == 1 and isinstance(value.args[0], str)
        message = value.args[0] if whole else str(value)
        room.take(len(message))
        return ErrorValue(type(value).__name__, message)
    if depth >= _DEPTH:
        raise UnsupportedValue(f"it is nested deeper than {_DEPTH} levels or contains itself")
    return _container(value, depth + 1, room, exact)


def _container(value: Any, depth: int, room: Room, exact: bool) -> Any:
    if isinstance(value, dict):
        pairs = [
            (_plain(k, depth, room, exact), _plain(v, depth, room, exact)) for k, v in value.items()
        ]
        if not all(type(key) is str for key in value):
            return MapValue(pairs)
        about = dict(pairs)
        stands_in = isinstance(about.get(_STAND_IN), str)
        return StandIn(about.pop(_STAND_IN), about) if stands_in else about
    if isinstance(value, (list, tuple)):
        parts = [_plain(item, depth, room, exact) for item in value]
        return tuple(parts) if exact and isinstance(value, tuple) else parts
    if isinstance(value, (set, frozenset)):
        # Python's own order differs from process to process, and a run must be repeatable.
        items: list[Any] = [_plain(item, depth, room, exact) for item in value]
        items.sort(key=lambda item: _order(item, room.orders))
        return SetValue(items, frozen=exact and isinstance(value, frozenset))
    return value


def _moment(value: dt.datetime) -> dt.datetime:
    """The same moment in UTC; one without a zone stays without."""
    try:
        return value.astimezone(dt.UTC) if value.tzinfo else value
    except OverflowError as error:
        raise UnsupportedValue("it has a datetime outside the years 1 to 9999 in UTC") from error


def _order(item: Any, known: dict[int, str]) -> str:
    """Text that decides the order of a set's items.

    Args:
        item: An item; its contents live as long as `known`.
        known: Texts of containers, by identity, so that each is made once in nested sets.
    """
    if not isinstance(item, (list, tuple, SetValue)):
        return json.dumps(encode(item))
    if id(item) not in known:
        begins, held = (_SET_BEGINS, item.items) if isinstance(item, SetValue) else ("[", item)
        texts = "\n".join(_order(one, known) for one in held)
        known[id(item)] = begins + hashlib.sha256(texts.encode()).hexdigest()
    return known[id(item)]


def answer(text: str) -> Any:
    """The same as `to_guest` for JSON text from the host; most texts hold nothing special.

    Raises:
        EngineFailure: The text is not JSON, or is nested deeper than Python reads.
        UnsupportedValue: Monty has no form for the value.
    """
    try:
        wire = read_json(text)
    except (ValueError, RecursionError) as error:
        raise EngineFailure(f"an answer of the host cannot be read: {error}") from error
    marks = ('"$"', _STAND_IN, "\\ud")
    return to_guest(wire) if any(mark in text for mark in marks) else wire


def to_guest(wire: Any) -> Any:
    """The value that Monty's client takes for a wire tree.

    Raises:
        UnsupportedValue: The tree is malformed or too deep, or a text in it has half of a
            surrogate pair, for which Monty's strings, which are UTF-8, have no form.
    """
    return _python(decode(wire))


def _python(value: Any) -> Any:
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, dict):
        if isinstance(value.get(_STAND_IN), str):  # would come back as another value
            raise UnsupportedValue(
                f"a dictionary has a text under {_STAND_IN!r}, the key that marks a value which "
                "stays with the host; rename it on the host"
            )
        return {_whole(key): _python(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_python(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_python(item) for item in value)
    if value is UNDEFINED:
        return None
    if isinstance(value, BigInt):
        return int(value)
    if isinstance(value, MapValue):
        return _mapping([(_python(key), _python(item)) for key, item in value.entries])
    if isinstance(value, SetValue):
        return _set([_python(item) for item in value.items], value.frozen)
    if isinstance(value, StandIn):
        about = {key: item for key, item in value.about.items() if key != _STAND_IN}
        return {**_python(about), _STAND_IN: _whole(value.id)}
    if isinstance(value, ErrorValue):
        return exception_for(GuestError(value.name, value.message))
    if isinstance(value, dt.datetime) and value.tzinfo:
        return value.astimezone(dt.UTC)
    return value


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnsupportedValue(
            f"a text has half of a surrogate pair, {text[error.start]!a}, which no string of Monty "
            "can hold; replace it on the host"
        ) from error
    return text


def _mapping(pairs: list[tuple[Any, Any]]) -> Any:
    try:
        made = {_hashed(key): item for key, item in pairs}
    except TypeError:
        made = {}
    return made if len(made) == len(pairs) else [list(pair) for pair in pairs]


def _hashed(value: Any) -> Any:
    """The value as a key: on the wire, a tuple of the host is an array."""
    return tuple(map(_hashed, value)) if isinstance(value, list) else value


def _set(items: list[Any], frozen: bool) -> Any:
    try:
        made = (frozenset if frozen else set)(map(_hashed, items))
    except TypeError:
        return items
    return made if len(made) == len(items) else items
