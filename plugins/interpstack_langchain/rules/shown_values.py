"""Arguments of calls from code, as rules receive them, and as people and checkpoints see them.

Checkpoints hold integers of 64 bits at most, and JavaScript reads fewer from JSON. A larger integer
is shown as `{"$bigint": "1180591620717411303424"}`, so that it differs from the same digits as
text. In the arguments of an edit, the same form stands for the integer. An object whose only key
is `$bigint`, with any number of `$`, is shown with one more of them. A text with half of a
surrogate pair, which no checkpoint holds, is shown in the form of `shown_texts`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from interpstack import BigInt
from interpstack_agents import has_half, read_texts, shown_texts

__all__ = ["digestible", "plain", "read", "storable", "unstorable_key"]

_MARK: Final = "$bigint"
#: The only key of an object that could be read as an integer, or as an escaped object.
_ESCAPED: Final = re.compile(r"\$+bigint")
#: Bits of an integer in a checkpoint, beside its sign.
_STORED_BITS: Final = 63
#: Python takes long to write longer integers as decimals, and refuses to.
_LONG_BITS: Final = 8192


class _LongInteger(int):
    """An integer that rules and logs can write: decimals of it would take long."""

    def __repr__(self) -> str:
        return hex(self)

    __str__ = __repr__


def plain(value: Any) -> Any:
    """Return a tool's argument with plain integers of any size, as the tool gets it.

    Args:
        value: The argument, as `plain_input` of `interpstack_agents` made it.
    """
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, BigInt):
        value = int(value)
    if isinstance(value, int) and value.bit_length() > _LONG_BITS:
        return _LongInteger(value)
    return value


def storable(value: Any) -> Any:
    """A plain value as people and checkpoints see it: large integers and halves marked."""
    return shown_texts(_integers_marked(value, _STORED_BITS))


def _integers_marked(value: Any, bits: int) -> Any:
    """A plain value with its large integers marked, and objects that look so escaped.

    Args:
        value: The value.
        bits: Bits of the largest integer that is left as it is, beside its sign.
    """
    if isinstance(value, int):
        return value if -(1 << bits) <= value < 1 << bits else _marked(value)
    if isinstance(value, Mapping):
        items = {key: _integers_marked(item, bits) for key, item in value.items()}
        return {f"${key}": item for key, item in items.items()} if _looks_marked(items) else items
    if isinstance(value, list | tuple):
        return [_integers_marked(item, bits) for item in value]
    return value


def digestible(value: Any) -> Any:
    """The form of a guest's value that `json.dumps` writes, the same for no two plain values."""
    return _integers_marked(plain(value), _LONG_BITS)


def unstorable_key(value: Any) -> str | None:
    """A key in a plain value that no checkpoint holds, with half of a surrogate pair."""
    if isinstance(value, list):
        return next((key for item in value if (key := unstorable_key(item)) is not None), None)
    if not isinstance(value, Mapping):
        return None
    for key, item in value.items():
        if isinstance(key, str) and has_half(key):
            return key
        if (inner := unstorable_key(item)) is not None:
            return inner
    return None


def read(value: Any) -> Any:
    """The plain value that `storable` was given."""
    return _integers_read(read_texts(value))


def _integers_read(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_integers_read(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if {*value} == {_MARK} and isinstance(value[_MARK], str):
        return _integer(value[_MARK], value)
    items = {key: _integers_read(item) for key, item in value.items()}
    if _looks_marked(items) and _MARK not in items:
        return {key[1:]: item for key, item in items.items()}
    return items


def _looks_marked(items: Mapping[Any, Any]) -> bool:
    """Whether an object has one key, and that of a mark or of an escaped object."""
    (key, *others) = [*items] or [None]
    return not others and isinstance(key, str) and _ESCAPED.fullmatch(key) is not None


def _marked(value: int) -> dict[str, str]:
    return {_MARK: hex(value) if value.bit_length() > _LONG_BITS else str(value)}


def _integer(digits: str, instead: Any) -> Any:
    """The integer with these digits; `instead` if they are none, which a schema refuses."""
    try:
        return int(digits, 0)
    except ValueError:
        return instead
