"""Texts of values that are not files: JSON, and tables in Markdown."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from interpstack import UNDEFINED, ErrorValue, MapValue, SetValue

__all__ = ["check_parts", "is_table", "json_text", "markdown_table"]

#: Bits of an integer that Python writes as text.
_BITS: Final = 14_000
#: A pipe with the backslashes before it. A match begins with the first of these: to try each one of
#: a long row takes time that grows with the square of the row, and no other thread runs meanwhile.
_PIPE: Final = re.compile(r"(?<!\\)(\\*+)\|")
#: Columns of a table.
_COLUMNS: Final = 50
#: Items and fields of a value, in all its levels. More take the host long to write as text.
_PARTS: Final = 50_000


def check_parts(value: Any) -> None:
    """Refuse a value of so many parts that the host would be busy with it.

    Raises:
        ValueError: It has too many items and fields.
    """
    waiting, count = [value], 0
    while waiting:
        item = waiting.pop()
        inner = _inner(item)
        count += len(inner)
        if count > _PARTS:
            raise ValueError(
                f"the value has more than {_PARTS} items and fields; show a part of it"
            )
        waiting += inner


def _inner(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, MapValue):
        return [part for entry in value.entries for part in entry]
    return list(value.items) if isinstance(value, SetValue) else []


def is_table(value: Any) -> bool:
    """Whether a value is a list of records, whose fields hold no other lists and records.

    Records that have few fields in common make many empty cells, each of which takes time as well.
    """
    if not isinstance(value, list) or not value:
        return False
    if not all(isinstance(row, Mapping) and row for row in value):
        return False
    if not all(_is_scalar(item) for row in value for item in row.values()):
        return False
    columns = len(_columns(value))
    return columns <= _COLUMNS and columns * len(value) <= _PARTS


def markdown_table(rows: list[Mapping[str, Any]]) -> str:
    """A list of records as a table in Markdown, with one column for each field."""
    columns = _columns(rows)
    lines = [_line(columns), _line(["---"] * len(columns))]
    lines += [_line([_cell(row.get(column)) for column in columns]) for row in rows]
    return "\n".join(lines)


def json_text(value: Any) -> str:
    """Any value of a guest as JSON for people; types that JSON lacks become their nearest form."""
    return json.dumps(_plain(value), ensure_ascii=False, indent=2)


def _columns(rows: list[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _is_scalar(value: Any) -> bool:
    return value is UNDEFINED or isinstance(value, (str, int, float, datetime, type(None)))


def _line(cells: list[str]) -> str:
    # Backslashes before a pipe would undo its escape.
    escaped = (" ".join(_PIPE.sub(r"\1\1\|", cell).split()) for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _cell(value: Any) -> str:
    if value is None or value is UNDEFINED:
        return ""
    if isinstance(value, str):
        return value
    return json_text(value).strip('"')


def _plain(value: Any) -> Any:
    """The value in types of JSON; `encode` has bounded its depth."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, MapValue):
        return [[_plain(key), _plain(item)] for key, item in value.entries]
    if isinstance(value, SetValue):
        return [_plain(item) for item in value.items]
    if isinstance(value, ErrorValue):
        return f"{value.name}: {value.message}"
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> Any:
    if value is UNDEFINED:
        return None
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and value.bit_length() > _BITS:
        return f"<integer of {value.bit_length()} bits>"
    return value
