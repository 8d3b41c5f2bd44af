"""Arguments of handlers, and their return values as JSON text of bounded size."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Final

from interpstack.contracts.bridges import Bridge, BridgeSet
from interpstack.contracts.errors import UnsupportedValue
from interpstack.contracts.languages import GuestLanguage
from interpstack.contracts.outcome import CellContext
from interpstack.contracts.protocol import Request
from interpstack.threads import call_blocking
from interpstack.values.decoding import decode
from interpstack.values.encoding import TooLarge, encode
from interpstack.values.plain import simplified

__all__ = ["answer_text", "arguments", "exchanged_arguments"]

_to_json = json.JSONEncoder(separators=(",", ":")).encode
#: Characters of an answer that are encoded on the event loop; it stops for some 20 ms.
_AT_ONCE_CHARS: Final = 2**17
#: Items of a list that are made into text at once, of a longer answer.
_PIECE_ITEMS: Final = 1000


async def arguments(bridge: Bridge, request: Request, language: GuestLanguage) -> Any:
    """See `Bridge.arguments`; a tree of many parts is decoded and checked in a thread."""
    if request.plain and bridge.signature is None:
        return (request.wire,), {}
    if _has_many_parts(request.wire):
        return await call_blocking(partial(_arguments, bridge, request, language))
    return _arguments(bridge, request, language)


def _has_many_parts(wire: Any) -> bool:
    parts = [wire]
    for part in parts:
        parts += part.values() if type(part) is dict else part if type(part) is list else ()
        if len(parts) > _PIECE_ITEMS:
            return True
    return False


def _arguments(bridge: Bridge, request: Request, language: GuestLanguage) -> Any:
    if request.plain:
        return bridge.arguments(request.wire, language)
    if _has_stand_in(request.wire):
        raise UnsupportedValue(
            "the input has a value that stays with the host, and no plugin of this stack can put "
            "it in; add the plugin that made it"
        )
    return bridge.arguments(decode(request.wire), language)


def _has_stand_in(wire: Any) -> bool:
    parts = [wire]
    for part in parts:
        if type(part) is dict:
            if part.get("$") == "standin":
                return True
            parts += part.values()
        elif type(part) is list:
            parts += part
    return False


async def exchanged_arguments(
    bridge: Bridge, request: Request, bridges: BridgeSet, context: CellContext
) -> Any:
    """See `Bridge.arguments`; exchanges replace parts of the input before."""
    many, wire = _has_many_parts(request.wire), request.wire
    value = await call_blocking(partial(decode, wire)) if many else decode(wire)
    for exchange in bridges.exchanges:
        value = await exchange.given(bridge, value, context)
    if many or context.put_in:
        return await call_blocking(partial(bridge.arguments, value, bridges.language))
    return bridge.arguments(value, bridges.language)


async def answer_text(name: str, value: Any, most: int) -> str:
    """The return value of a bridge's handler, as JSON text; a large one is encoded in a thread.

    Raises:
        UnsupportedValue: It has no form in the guest, or more than `most` bytes as JSON.
    """
    try:
        try:  # `suppress` would go through every part of an exception group that the value raises
            return _encoded(value, min(most, _AT_ONCE_CHARS))
        except TooLarge:
            return await call_blocking(partial(_encoded, value, most))
    except TooLarge:
        raise UnsupportedValue(
            f"the answer of {name} has more than the {most} bytes that may cross as JSON; "
            "return less, or a part at a time"
        ) from None
    except UnsupportedValue as error:
        raise UnsupportedValue(
            f"{name} was called, but its answer cannot reach the code: {error.reason}", error.path
        ) from error


def _encoded(value: Any, most: int) -> str:
    wire = encode(value, most, simplified)
    text = _to_json(wire) if most <= _AT_ONCE_CHARS else _in_pieces(wire)
    if len(text) > most:
        raise TooLarge(most)
    return text


def _in_pieces(wire: Any) -> str:
    """The same as `_to_json`, which lets no other thread run before it ends."""
    if type(wire) is dict:
        fields = [f"{_to_json(key)}:{_in_pieces(item)}" for key, item in wire.items()]
        return "{" + ",".join(fields) + "}"
    if type(wire) is list and len(wire) > _PIECE_ITEMS:
        starts = range(0, len(wire), _PIECE_ITEMS)
        return "[" + ",".join(_to_json(wire[at : at + _PIECE_ITEMS])[1:-1] for at in starts) + "]"
    return _to_json(wire)
