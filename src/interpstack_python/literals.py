"""Values in the types of Python alone, whose `repr` is what code writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from interpstack import UNDEFINED, BigInt, ErrorValue, MapValue, SetValue

__all__ = ["own_value"]


@attrs.frozen(repr=False)
class _Raised:
    """An exception that is shown, and cannot be made: its class may be the guest's own."""

    name: str
    message: str

    def __repr__(self) -> str:
        return f"{self.name}({self.message!r})"


def own_value(value: Any) -> Any:
    """A value of a guest as Python has it: a dictionary for a Map, a set for a Set.

    An array that is a key, or an item of a set, is a tuple.
    """
    match value:
        case dict():
            return {key: own_value(item) for key, item in value.items()}
        case list():
            return [own_value(item) for item in value]
        case MapValue():
            pairs = [[own_value(key), own_value(item)] for key, item in value.entries]
            return _or_list(lambda: {_hashed(key): item for key, item in pairs}, pairs)
        case SetValue():
            items = [own_value(item) for item in value.items]
            return _or_list(lambda: set(map(_hashed, items)), items)
        case ErrorValue():
            return _Raised(value.name, value.message)
        case BigInt():
            return int(value)
    return None if value is UNDEFINED else value


def _hashed(value: Any) -> Any:
    return tuple(map(_hashed, value)) if isinstance(value, list) else value


def _or_list(make: Callable[[], Any], items: list[Any]) -> Any:
    """A container of items; the list itself if these cannot be hashed, or are equal."""
    try:
        made = make()
    except TypeError:
        return items
    return made if len(made) == len(items) else items
