"""Values of a notebook for guest code, and tables of code as data frames."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import date, datetime
from importlib import import_module
from typing import Any, Final

from interpstack import UNDEFINED, ConfigurationError

__all__ = ["as_frame", "for_guest", "is_records"]

#: Units of NumPy's times that are finer than those of Python.
_FINE: Final = ("ns]", "ps]", "fs]", "as]")


def for_guest(value: Any) -> Any:
    """A value in a simpler type, one step towards those that have a form in guests; see `encode`.

    A data frame becomes a list of records, without its index; a series or an array becomes a list;
    missing values become `None`. Values of NumPy become those of Python, and a date without a time
    text, as in the answer of a bridge.
    """
    pandas = sys.modules.get("pandas")  # whoever has a data frame has imported it
    if pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series)):
        return _records(value) if isinstance(value, pandas.DataFrame) else _items(value)
    if pandas is not None and (value is pandas.NaT or value is pandas.NA):
        return None
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return _as_far_as_python(value).tolist()
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime()
    is_day = isinstance(value, date) and not isinstance(value, datetime)
    return value.isoformat() if is_day else value


def _records(frame: Any) -> list[dict[str, Any]]:
    columns = {str(name): _items(frame.iloc[:, i]) for i, name in enumerate(frame.columns)}
    if len(columns) != frame.shape[1]:
        raise ConfigurationError("the data frame has two columns of the same name; rename one")
    names = list(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _items(series: Any) -> list[Any]:
    missing, items = series.isna().tolist(), series.astype(object).tolist()
    return [None if lost else one for one, lost in zip(items, missing, strict=True)]


def _as_far_as_python(array: Any) -> Any:
    """An array whose times have microseconds, as in Python: finer ones become bare numbers."""
    if array.dtype.kind in "mM" and array.dtype.str.endswith(_FINE):
        return array.astype(f"{array.dtype.kind}8[us]")
    return array


def is_records(value: Any) -> bool:
    """Whether a value of code is a list of records, which is shown as a table."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, Mapping) and row for row in value)
    )


def as_frame(name: str, value: Any) -> Any:
    """A list of records as a data frame.

    Raises:
        ConfigurationError: pandas is not installed, or the value is not a list of records.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise ConfigurationError("--frames needs pandas: pip install pandas") from None
    if not is_records(value):
        raise ConfigurationError(f"{name} is not an array of records, which --frames needs")
    rows = [{key: None if v is UNDEFINED else v for key, v in row.items()} for row in value]
    return pandas.DataFrame(rows)
