"""Conversion of tools' results to values for guests."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence, Set
from datetime import date, time, timedelta
from enum import Enum
from typing import Any

import attrs
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from pydantic import BaseModel

from interpstack_display.api import to_block

__all__ = ["to_guest"]

_DEPTH = 100
#: Types whose values need no conversion.
_PLAIN = frozenset({bool, bytes, float, int, str, type(None)})
#: Units of NumPy's times that are finer than those of Python: such a time becomes a bare number.
_FINE = ("[ns]", "[ps]", "[fs]", "[as]")
_NONE = object()


def to_guest(value: Any) -> Any:
    """A tool's return value in types that cross to the guest.

    Pydantic models, dataclasses, attrs classes, documents and messages become objects; the message
    of a tool becomes its content. A content block with the data of an image, a file, a sound or a
    film becomes `{"type", "mimeType", "data"}` and its other fields. Dates, times, durations,
    paths, UUIDs and decimals become text; numbers of numeric libraries become numbers, and their
    arrays lists; the missing values of pandas become `None`. Keys become text as in JSON. Any other
    value becomes its `str()`, as in a message to the model.

    Raises:
        ValueError: The value contains itself or is nested too deep.
    """
    return value if type(value) in _PLAIN else _Conversion().of(value, 0)


class _Conversion:
    """A converter for one value; a part that occurs more than once is converted once and shared.

    Lists that hold each other twice double with each level otherwise.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any, depth: int) -> Any:
        if isinstance(value, Enum):
            value = value.value
        if value is None or isinstance(value, (str, bool, int, float, bytes)):
            return value
        if depth > _DEPTH:
            raise ValueError(
                "the tool's answer contains itself or is nested too deep to pass to code"
            )
        if id(value) not in self._made:
            self._made[id(value)] = (value, self._other(value, depth + 1))  # keeps the id its own
        return self._made[id(value)][1]

    def _other(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            return self._object(value, depth)
        if isinstance(value, (list, tuple, Set)):
            # The event loop waits for this, so lists of millions of numbers are not walked.
            plain = _PLAIN.issuperset(map(type, value))
            return list(value) if plain else [self.of(item, depth) for item in value]
        if isinstance(value, ToolMessage):
            return self.of(value.content, depth)
        if isinstance(value, (BaseModel, Document)):
            # By the names in the signature, whatever else the fields are called in JSON.
            return self.of(value.model_dump(by_alias=False), depth)
        if not isinstance(value, type) and (
            dataclasses.is_dataclass(value) or attrs.has(type(value))
        ):
            return self._record(value, depth)
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        if _is_missing(value):
            return None
        # Left to the core: text in ISO 8601, and lists such as a range, whose size it counts.
        if isinstance(value, (date, time, timedelta, Sequence)):
            return value
        return self._foreign(value, depth)

    def _foreign(self, value: Any, depth: int) -> Any:
        """Values that are recognised by their methods, such as scalars and arrays of numpy."""
        # Of the class: an instance may answer to any name.
        to_list = getattr(type(value), "tolist", None)
        if not callable(to_list):
            return str(value)
        if str(getattr(value, "dtype", "")).endswith(_FINE):
            value = value.astype(f"{value.dtype.kind}8[us]")
        return self.of(to_list(value), depth)

    def _record(self, value: Any, depth: int) -> Any:
        fields = getattr(value, "__attrs_attrs__", None) or dataclasses.fields(value)
        return {field.name: self.of(getattr(value, field.name), depth) for field in fields}

    def _object(self, value: Mapping[Any, Any], depth: int) -> Any:
        made = {_key(key): self.of(item, depth) for key, item in value.items()}
        return (to_block(made) or made) if "type" in made else made


def _is_missing(value: Any) -> bool:
    """Whether a value is one of those that pandas has for nothing."""
    pandas = sys.modules.get("pandas")  # whoever has one of them has imported it
    return any(value is getattr(pandas, name, _NONE) for name in ("NaT", "NA"))


def _key(key: Any) -> str:
    """A key in the JSON that pydantic writes, which is also the form in the signature."""
    key = key.value if isinstance(key, Enum) else key
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, (date, time)):
        return key.isoformat()
    return str(key)
