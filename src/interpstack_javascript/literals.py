"""Values as JavaScript writes them, for messages about values that code passed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from interpstack import UNDEFINED, BigInt, ErrorValue, MapValue, SetValue

__all__ = ["literal"]

#: Characters after which no further item is written: messages show fewer.
_MOST: Final = 200
#: Python takes long to write longer integers as decimals, and refuses to.
_LONG_BITS: Final = 8192


def literal(value: Any) -> str:
    """A value as code writes it, such as `new Map([[1, "a"]])`; a long one ends with `…`."""
    text = ""
    for part in _parts(value):
        if len(text) > _MOST:
            return f"{text}…"
        text += part
    return text


def _parts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            yield from _row("[", value, "]")
        case dict():
            yield "{"
            for number, (key, item) in enumerate(value.items()):
                yield f"{', ' if number else ''}{json.dumps(key, ensure_ascii=False)}: "
                yield from _parts(item)
            yield "}"
        case MapValue():
            yield from _row("new Map([", value.entries, "])")
        case SetValue():
            yield from _row("new Set([", value.items, "])")
        case bytes():
            yield from _row("new Uint8Array([", value, "])")
        case datetime():
            moment = value.astimezone(UTC) if value.tzinfo else value
            yield f'new Date("{moment.replace(tzinfo=None).isoformat()}Z")'
        case ErrorValue():
            name = value.name if value.name.isidentifier() else "Error"
            yield f"new {name}({json.dumps(value.message, ensure_ascii=False)})"
        case BigInt():
            long = value.bit_length() > _LONG_BITS
            yield f"{hex(value) if long else int(value)}n"
        case _ if value is UNDEFINED:
            yield "undefined"
        case _:
            yield json.dumps(value, default=lambda item: type(item).__name__)


def _row(start: str, items: Iterable[Any], end: str) -> Iterator[str]:
    yield start
    for number, item in enumerate(items):
        if number:
            yield ", "
        yield from _parts(item)
    yield end
