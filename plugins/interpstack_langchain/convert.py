"""What tools return, as values the guest can have."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

import attrs
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from pydantic import BaseModel

__all__ = ["to_guest"]

_DEPTH = 100


def to_guest(value: Any) -> Any:
    """A tool's return value in types that cross to the guest.

    Pydantic models, dataclasses, attrs classes and documents become objects, messages their
    content, dates, paths, UUIDs and decimals strings. What has no such form becomes its `str()`,
    as it would in a message to the model.

    Raises:
        ValueError: The value contains itself or is nested too deep.
    """
    return _convert(value, 0)


def _convert(value: Any, depth: int) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, (str, bool, int, float, bytes, datetime)):
        return value
    if depth > _DEPTH:
        raise ValueError("the tool's answer contains itself or is nested too deep to pass to code")
    if isinstance(value, Mapping):
        return {_key(k): _convert(v, depth + 1) for k, v in value.items()}
    if isinstance(value, BaseMessage):
        return _convert(value.content, depth + 1)
    if isinstance(value, (BaseModel, Document)):
        return _convert(value.model_dump(), depth + 1)
    if not isinstance(value, type) and (dataclasses.is_dataclass(value) or attrs.has(type(value))):
        names = [
            f.name for f in getattr(value, "__attrs_attrs__", None) or dataclasses.fields(value)
        ]
        return {name: _convert(getattr(value, name), depth + 1) for name in names}
    if isinstance(value, (Sequence, Set)) and not isinstance(value, (bytearray, memoryview)):
        return [_convert(item, depth + 1) for item in value]
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (UUID, PurePath, Decimal)):
        return str(value)
    return str(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(key)
