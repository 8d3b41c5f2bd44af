"""Arguments of handlers, and their return values as JSON text of bounded size."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from interpstack_core.bridges import Bridge
from interpstack_core.languages import GuestLanguage
from interpstack_core.protocol import Request
from interpstack_core.threads import call_blocking, outlasted
from interpstack_core.wire.encoding import TooLarge, encode
from interpstack_core.wire.plain import simplified
from interpstack_core.wire.values import decode

__all__ = ["answer_text", "arguments"]

_to_json = json.JSONEncoder(separators=(",", ":")).encode
#: Characters of an answer that are encoded on the event loop; it stops for some 20 ms.
_AT_ONCE_CHARS: Final = 2**17
#: Items of a list that are made into text at once, of a longer answer.
_PIECE_ITEMS: Final = 1000


async def arguments(bridge: Bridge, request: Request, language: GuestLanguage) -> Any:
    """See `Bridge.arguments`; a tree of many parts is decoded and checked in a thread."""
    parts = [] if request.plain and bridge.signature is None else [request.wire]
    for part in parts:
        parts += part.values() if type(part) is dict else part if type(part) is list else ()
        if len(parts) > _PIECE_ITEMS:
            return await call_blocking(partial(_arguments, bridge, request, language))
    return _arguments(bridge, request, language)


def _arguments(bridge: Bridge, request: Request, language: GuestLanguage) -> Any:
    return bridge.arguments(request.wire if request.plain else decode(request.wire), language)


async def answer_text(value: Any, most: int, outlasts: Callable[[], float] = lambda: 0.0) -> str:
    """The return value of a handler, as JSON text; large values are encoded in a thread.

    Args:
        value: The handler's own object.
        most: Bytes that the text may have.
        outlasts: Seconds to wait for the text once the caller is cancelled: the call is over, so
            its answer is not to be lost.

    Raises:
        TooLarge: It has more than `most` bytes.
        UnsupportedValue: It has no form in the guest.
    """
    try:
        return _encoded(value, min(most, _AT_ONCE_CHARS))
    except TooLarge:
        if most <= _AT_ONCE_CHARS:
            raise
    encoding = asyncio.ensure_future(call_blocking(partial(_encoded, value, most)))
    try:
        return await asyncio.shield(encoding)
    except asyncio.CancelledError:
        seconds = outlasts()
        if not seconds or not await outlasted(encoding, seconds):
            encoding.cancel()
            raise
        return encoding.result()


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
