"""Return values of handlers, as JSON text of bounded size.

A handler may return objects of its libraries. The guest gets plain data: dates as ISO 8601 text
that a parameter of the same type accepts, records as their fields by name.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import PurePath
from typing import Any, Final, cast
from uuid import UUID

import attrs

from interpstack_core.threads import call_blocking, outlasted
from interpstack_core.wire.encoding import TooLarge, encode
from interpstack_core.wire.values import UNDEFINED, ErrorValue, MapValue, SetValue

__all__ = ["answer_text"]

_to_json = json.JSONEncoder(separators=(",", ":")).encode
#: Characters of an answer that are encoded on the event loop; it stops for some 20 ms.
_AT_ONCE_CHARS: Final = 2**17
#: Items of a list that are made into text at once, of a longer answer.
_PIECE_ITEMS: Final = 1000
#: Records that have a form of their own on the wire.
_OWN_FORM: Final = (ErrorValue, MapValue, SetValue)


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
    wire = _encode_answer(value, most)
    text = _to_json(wire) if most <= _AT_ONCE_CHARS else _in_pieces(wire)
    if len(text) > most:
        raise TooLarge(most)
    return text


def _in_pieces(wire: Any) -> str:
    """The same as `_to_json`, which lets no other thread run before it ends."""
    if type(wire) is dict and len(wire) < _PIECE_ITEMS:
        fields = [f"{_to_json(key)}:{_in_pieces(item)}" for key, item in wire.items()]
        return "{" + ",".join(fields) + "}"
    if type(wire) is list and len(wire) > _PIECE_ITEMS:
        starts = range(0, len(wire), _PIECE_ITEMS)
        return "[" + ",".join(_to_json(wire[at : at + _PIECE_ITEMS])[1:-1] for at in starts) + "]"
    return _to_json(wire)


def _encode_answer(value: Any, most: int) -> Any:
    """The wire tree of a handler's return value.

    Args:
        value: A value for `encode`, or dates, times and durations, `UUID`, `Decimal`, paths,
            dataclasses, attrs classes, and models with a method `model_dump`.
        most: As for `encode`.

    Raises:
        TooLarge: It has more than `most` characters.
        UnsupportedValue: It, or something in it, has no form in the guest.
    """
    return encode(value, most, _simplified)


def _simplified(value: Any) -> Any:
    if isinstance(value, Enum):
        return value if value is UNDEFINED else value.value
    text = _text_of(value)
    if text is not None:
        return text
    if isinstance(value, (type, *_OWN_FORM)):
        return value
    dump = getattr(type(value), "model_dump", None)  # pydantic's, and that of its like
    if callable(dump):
        return cast("Callable[[Any], Any]", dump)(value)
    fields = _fields_of(value)
    return value if fields is None else fields


def _text_of(value: Any) -> str | None:
    """Text for a scalar that JSON lacks, as pydantic writes it; `None` for any other value.

    A date with a time keeps its zone, or has none as before.
    """
    if isinstance(value, (date, time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, (UUID, Decimal, PurePath)):
        return str(value)
    return None


def _fields_of(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass or an attrs object; `None` for anything else."""
    if isinstance(value, type):
        return None
    if attrs.has(type(value)):
        return {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _duration(value: timedelta) -> str:
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    fraction = f".{value.microseconds:06}".rstrip("0").rstrip(".")
    return f"{sign}P{value.days}DT{value.seconds}{fraction}S"
