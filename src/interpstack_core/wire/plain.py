"""Plain data for objects of Python's libraries, which handlers may return.

A parameter of the same type accepts the text that a scalar becomes.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from datetime import date, time, timedelta
from enum import Enum
from typing import Any, Final, cast

import attrs

from interpstack_core.wire.values import UNDEFINED, ErrorValue, MapValue, SetValue

__all__ = ["simplified"]

#: Classes whose objects become text. Until their modules are loaded, there are no such objects.
_TEXTS: Final = (("uuid", "UUID"), ("decimal", "Decimal"), ("pathlib", "PurePath"))


def simplified(value: Any) -> Any:
    """Plain data for an object that `encode` does not know, or the object itself.

    Dates, times and durations become ISO 8601 text; `UUID`, `Decimal` and paths text; enums their
    values; dataclasses, attrs classes and models with a method `model_dump` mappings.
    """
    if isinstance(value, Enum):
        return value if value is UNDEFINED else value.value
    text = _text_of(value)
    if text is not None:
        return text
    if isinstance(value, (type, ErrorValue, MapValue, SetValue)):
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
    known = tuple(getattr(sys.modules.get(module), name, ()) for module, name in _TEXTS)
    return str(value) if isinstance(value, known) else None


def _fields_of(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass or an attrs object; `None` for anything else."""
    fields = attrs.fields(type(value)) if attrs.has(type(value)) else None
    if fields is None and dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
    return None if fields is None else {one.name: getattr(value, one.name) for one in fields}


def _duration(value: timedelta) -> str:
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    fraction = f".{value.microseconds:06}".rstrip("0").rstrip(".")
    return f"{sign}P{value.days}DT{value.seconds}{fraction}S"
