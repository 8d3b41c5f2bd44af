"""Values of a notebook for guest code, and tables of code as data frames."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from interpstack import UNDEFINED, ConfigurationError

__all__ = ["as_frame", "for_guest", "is_records"]


def for_guest(value: Any) -> Any:
    """A value in types that have a form in guests.

    A data frame becomes a list of records, without its index; a series or an array becomes a list;
    missing values become `None`. Values of NumPy become those of Python.
    """
    pandas = sys.modules.get("pandas")  # whoever has a data frame has imported it
    if pandas is not None and isinstance(value, pandas.DataFrame):
        columns = {str(name): for_guest(value.iloc[:, i]) for i, name in enumerate(value.columns)}
        if len(columns) != value.shape[1]:
            raise ConfigurationError("the data frame has two columns of the same name; rename one")
        names = list(columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if pandas is not None and isinstance(value, pandas.Series):
        missing = value.isna().tolist()
        items = value.astype(object).tolist()
        return [None if lost else for_guest(one) for one, lost in zip(items, missing, strict=True)]
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: for_guest(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [for_guest(item) for item in value]
    return value.to_pydatetime() if hasattr(value, "to_pydatetime") else value


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
