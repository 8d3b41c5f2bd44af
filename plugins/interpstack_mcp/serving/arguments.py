"""Checks of the arguments from which hosts make a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interpstack import ConfigurationError
from interpstack.checks import shown

__all__ = ["texts"]


def texts(name: str, value: Any) -> tuple[str, ...]:
    """The items of a list of strings.

    Args:
        name: The argument, for the error.
        value: Its value. One string is refused: Python would take each of its letters for an item.

    Raises:
        ConfigurationError: The value is not a list of strings.
    """
    items: list[Any] = (
        [*value] if isinstance(value, Iterable) and not isinstance(value, str) else [None]
    )
    if not all(isinstance(one, str) for one in items):
        raise ConfigurationError(f"{name} takes a list of strings; got {shown(value)}")
    return tuple(items)
