"""Tables of code as data frames of the notebook."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from interpstack import UNDEFINED, ConfigurationError

__all__ = ["as_frame", "is_records"]


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
