"""Dictionaries of a host as objects of JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from interpstack import UnsupportedValue

__all__ = ["json_object"]


def json_object(
    value: Mapping[Any, Any], key_text: Callable[[Any], str], convert: Callable[[Any], Any]
) -> dict[str, Any]:
    """A dictionary as an object of JSON, which has all of its items.

    Args:
        value: The dictionary; its keys may be of any type.
        key_text: Returns the text of a key that is not text.
        convert: Converts an item.

    Raises:
        UnsupportedValue: Two keys are the same text, such as `1` and `"1"`: one item would be lost.
    """
    made: dict[str, Any] = {}
    for key, item in value.items():
        name = key if type(key) is str else key_text(key)
        if name in made:
            raise UnsupportedValue(f"two keys of a dictionary are {name!r:.80} as text; rename one")
        made[name] = convert(item)
    return made
