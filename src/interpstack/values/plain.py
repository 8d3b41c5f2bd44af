"""The one conversion of the host's objects to plain data, for all doors to guest code.

Bridges, tools of agents and MCP servers, and variables of notebooks use it. The table is in
`docs/reference/values.md`. An object that is not in the table has no form in guest code: it is
refused, and never becomes the text of `str()`, which loses data without a word.

Libraries are found in `sys.modules`: whoever has an object of theirs has imported them.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from enum import Enum
from typing import Any, Final

import attrs

from interpstack.contracts.errors import UnsupportedValue
from interpstack.values.decoding import UNDEFINED, ErrorValue, MapValue, SetValue, StandIn

__all__ = ["plain_key", "simplified"]

#: Classes whose objects become text. Until their modules are loaded, there are no such objects.
_TEXTS: Final = (
    ("collections", "UserString"),
    ("uuid", "UUID"),
    ("decimal", "Decimal"),
    ("pathlib", "PurePath"),
    *(("ipaddress", f"IPv{version}{kind}") for version in "46" for kind in ("Address", "Network")),
    ("pydantic_core", "Url"),
    ("pydantic_core", "MultiHostUrl"),
    ("pydantic.networks", "AnyUrl"),
    ("pydantic.networks", "_BaseMultiHostUrl"),
)
#: Objects that are left to the encoder, although they have a method that is looked for.
_KNOWN: Final = (type, ErrorValue, MapValue, SetValue, StandIn, bytes, bytearray, memoryview)
_CONTAINERS: Final = (dict, frozenset, list, set, tuple)
#: Characters of an exception that ends a conversion.
_REASON_CHARS: Final = 300
#: Items of an array, and rows of a data frame, that are made at once.
_PIECE: Final = 1000
#: Units of NumPy's times that are finer than those of Python.
_FINE: Final = re.compile(r"\[\d*[npfa]s\]$")


def simplified(value: Any, *, times_as_text: bool = True) -> Any:
    """Replace an object that has no form in guests by plainer data, one step at a time.

    Args:
        value: Any object of the host.
        times_as_text: Make text in ISO 8601 of a `datetime`; otherwise leave it, so that it becomes
            the guest's own, such as a `Date`.

    Returns:
        Plainer data; the object itself where `encode` decides.

    Raises:
        UnsupportedValue: Data would be lost, as by two columns of one name.
    """
    if isinstance(value, Enum):
        return value if value is UNDEFINED else value.value
    if isinstance(value, (date, time, timedelta)):  # a datetime is a date
        return _of_time(value, times_as_text)
    if isinstance(value, _KNOWN):
        return value
    if isinstance(value, _classes(_TEXTS)):
        return str(value)
    try:
        for convert in (_of_pandas, _of_numpy, _of_model, _of_list_like):
            made = convert(value)
            if made is not value:
                return made
    except UnsupportedValue:
        raise
    except Exception as error:  # of the object's own methods, such as `model_dump`
        raise UnsupportedValue(
            f"a {_name(type(value))} cannot be passed to the guest, because it cannot be made into "
            f"plain data: {type(error).__name__}: {str(error)[:_REASON_CHARS]}"
        ) from error
    return value


def plain_key(key: Any) -> str:
    """The text for a key of an object, as JSON writes it.

    Args:
        key: A key of a dictionary, or a name of a column.

    Raises:
        UnsupportedValue: The key has no text of its own, such as a tuple.
    """
    made = simplified(key)
    made = simplified(made) if made is not key else made
    if isinstance(made, str):
        return str.__str__(made)
    if made is None or isinstance(made, (bool, int, float)):
        return json.dumps(made)  # `counts[null]` in code finds what `counts[None]` is here
    raise UnsupportedValue(
        f"a key of the type {_name(type(key))} cannot be the name of a field; use text"
    )


def _name(kind: type) -> str:
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def _classes(names: Sequence[tuple[str, str]]) -> Any:
    """The classes of these modules that are loaded."""
    found = [getattr(sys.modules.get(module), name, None) for module, name in names]
    return tuple(one for one in found if isinstance(one, type))


# -- times ---------------------------------------------------------------------------------


def _of_time(value: date | time | timedelta, as_text: bool) -> Any:
    """A date, a time or a duration in ISO 8601; a point in time keeps its zone, or has none."""
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, datetime):
        if value != value:
            return None
        if not as_text:
            to_python: Any = getattr(value, "to_pydatetime", None)
            return value if to_python is None else to_python(warn=False)
    return value.isoformat()


def _duration(value: timedelta) -> str | None:
    if value != value:
        return None
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    nanoseconds = value.microseconds * 1000 + getattr(value, "nanoseconds", 0)
    fraction = f".{nanoseconds:09}".rstrip("0").rstrip(".")
    return f"{sign}P{value.days}DT{value.seconds}{fraction}S"


# -- models and records --------------------------------------------------------------------


def _of_model(value: Any) -> Any:
    """The fields of a model, a dataclass or an attrs object, by the names that they have in it."""
    own = type(value)
    if isinstance(value, _classes((("pydantic.v1", "BaseModel"),))):
        return value.dict()
    dump = getattr(own, "model_dump", None)  # pydantic's, and that of its like
    if callable(dump):
        by_name = isinstance(value, _classes((("pydantic", "BaseModel"),)))
        return dump(value, by_alias=False) if by_name else dump(value)
    fields = attrs.fields(own) if attrs.has(own) else None
    if fields is None and dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
    if fields is None:
        return value
    made = {one.name: getattr(value, one.name) for one in fields}
    # One that is a list, too, has items that its fields do not hold.
    items = value if isinstance(value, _CONTAINERS) else ()
    if items and not (isinstance(items, dict) and items.keys() <= made.keys()):
        raise UnsupportedValue(
            f"a {_name(own)} has fields and items of its own; make a dictionary of both"
        )
    return made


def _of_list_like(value: Any) -> Any:
    """A list of an object with a method `tolist`, such as a tensor."""
    to_list = getattr(type(value), "tolist", None)  # of the class: an instance may have any name
    made = to_list(value) if callable(to_list) else value
    return value if type(made) is type(value) else made


class _Pieces(Sequence[Any]):
    """A list that is made piece by piece, so that it can be given up before it is whole."""

    def __init__(self, length: int, made: Callable[[int, int], list[Any]]) -> None:
        self._length, self._made = length, made

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[one] for one in range(self._length)[at]]
        return self._made(range(self._length)[at], range(self._length)[at] + 1)[0]

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, self._length, _PIECE):
            yield from self._made(start, min(start + _PIECE, self._length))


# -- pandas --------------------------------------------------------------------------------


def _of_pandas(value: Any) -> Any:
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return value
    if value is getattr(pandas, "NA", value.__class__):
        return None
    if isinstance(value, _classes((("pandas", "Series"),))):
        name = "value" if value.name is None else value.name
        return _records(value.to_frame(name))
    if isinstance(value, _classes((("pandas", "DataFrame"),))):
        return _records(value)
    if isinstance(value, _classes((("pandas", "Index"),))):
        levels = [value.get_level_values(level).to_series() for level in range(value.nlevels)]
        if len(levels) == 1:
            return _column(levels[0])
        return [*zip(*map(_column, levels), strict=True)]
    if isinstance(value, _classes((("pandas.api.extensions", "ExtensionArray"),))):
        return _column(value)
    return value


def _records(frame: Any) -> _Pieces:
    """A list of row objects; an index that is more than row numbers comes first in each."""
    columns = {**_index_columns(frame.index)}
    for at, name in enumerate(frame.columns):
        key = _column_key(name)
        if key in columns:
            raise UnsupportedValue(
                f"the data frame has two columns, or a column and an index, of the name {key!r}; "
                "rename one, or drop the index with reset_index(drop=True)"
            )
        columns[key] = frame.iloc[:, at]
    names, held = list(columns), list(columns.values())

    def rows(start: int, end: int) -> list[Any]:
        cells = [_column(one.iloc[start:end]) for one in held]
        if not cells:
            return [{} for _ in range(start, end)]
        return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]

    return _Pieces(len(frame), rows)


def _index_columns(index: Any) -> dict[str, Any]:
    if index.nlevels == 1 and index.name is None and _is_row_numbers(index):
        return {}
    made: dict[str, Any] = {}
    for level in range(index.nlevels):
        own = index.names[level]
        bare = "index" if index.nlevels == 1 else f"level_{level}"
        key = bare if own is None else _column_key(own)
        if key in made:
            raise UnsupportedValue(f"the index has two levels of the name {key!r}; rename one")
        made[key] = index.get_level_values(level).to_series()
    return made


def _is_row_numbers(index: Any) -> bool:
    return isinstance(index, _classes((("pandas", "RangeIndex"),)))


def _column_key(name: Any) -> str:
    if isinstance(name, tuple):
        raise UnsupportedValue(
            "the data frame has columns of more than one level; join their names, as in "
            "frame.columns = ['.'.join(map(str, name)) for name in frame.columns]"
        )
    return plain_key(name)


def _column(series: Any) -> list[Any]:
    """The items of a series or an array of pandas as objects; missing ones are `None`."""
    missing, items = series.isna().tolist(), series.astype(object).tolist()
    return [None if lost else one for one, lost in zip(items, missing, strict=True)]


# -- NumPy ---------------------------------------------------------------------------------


def _of_numpy(value: Any) -> Any:
    if not isinstance(value, _classes((("numpy", "ndarray"), ("numpy", "generic")))):
        return value
    if getattr(value, "ndim", 0) and (value.size > _PIECE or value.dtype.names is not None):
        return _Pieces(len(value), lambda start, end: [*map(value.__getitem__, range(start, end))])
    if value.dtype.names is not None:
        row = value[()]  # of an array without dimensions
        return {name: row[name] for name in value.dtype.names}
    if value.dtype.kind in "mM":
        return _of_times(value)
    made = value.tolist()
    return value if type(made) is type(value) else made  # a longdouble has no type in Python


def _of_times(value: Any) -> Any:
    """Times and durations of Python: NumPy makes bare numbers of those that Python cannot hold."""
    kind, exact = value.dtype.kind, value
    if _FINE.search(value.dtype.str):
        exact = value.astype(f"{kind}8[us]")
        if not ((exact == value) | (value != value)).all():
            raise UnsupportedValue(
                f"NumPy's {value.dtype} has parts of a microsecond, which would be lost; convert "
                f"it, as with .astype('{kind}8[us]') or .astype(str)"
            )
    made = exact.tolist()
    flat = [made]
    for one in flat:
        flat += one if isinstance(one, list) else ()
    if any(isinstance(one, int) for one in flat):
        raise UnsupportedValue(
            f"NumPy's {value.dtype} holds what Python's times cannot; convert it, as with "
            ".astype(str)"
        )
    return made
