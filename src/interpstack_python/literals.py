"""Values in the types of Python alone, whose `repr` is what code writes."""

from __future__ import annotations

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
    """A value of a guest as Python has it: a dictionary for a Map, a set for a Set."""
    match value:
        case dict():
            return {key: own_value(item) for key, item in value.items()}
        case list():
            return [own_value(item) for item in value]
        case MapValue():
            pairs = [[own_value(key), own_value(item)] for key, item in value.entries]
            return _or_list(dict, pairs)
        case SetValue():
            return _or_list(set, [own_value(item) for item in value.items])
        case ErrorValue():
            return _Raised(value.name, value.message)
        case BigInt():
            return int(value)
    return None if value is UNDEFINED else value


def _or_list(kind: Any, items: list[Any]) -> Any:
    """A container of a kind; the list itself if its items cannot be hashed, or are equal."""
    try:
        made = kind(items)
    except TypeError:
        return items
    return made if len(made) == len(items) else items
