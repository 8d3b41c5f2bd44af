"""Arguments of calls from code, as rules receive them, and as people and checkpoints see them.

Checkpoints hold integers of 64 bits at most, and JavaScript reads fewer from JSON. A larger integer
is shown as `{"$bigint": "1180591620717411303424"}`, so that it differs from the same digits as
text. In the arguments of an edit, the same form stands for the integer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from interpstack import UNDEFINED, BigInt, ErrorValue, MapValue, SetValue

__all__ = ["plain", "read", "storable", "unstorable_key"]

_MARK: Final = "$bigint"
#: Python takes long to write longer integers as decimals, and refuses to.
_LONG_BITS: Final = 8192


def plain(value: Any) -> Any:
    """A value of the guest in plain types, with integers of any size, as tools get them."""
    if isinstance(value, Mapping):
        items = {key: plain(item) for key, item in value.items()}
        return [[_MARK, items[_MARK]]] if {*items} == {_MARK} else items  # it is not an integer
    if isinstance(value, MapValue):
        return [[plain(key), plain(item)] for key, item in value.entries]
    if isinstance(value, list | SetValue):
        return [plain(item) for item in (value.items if isinstance(value, SetValue) else value)]
    if isinstance(value, ErrorValue):
        return {"name": value.name, "message": value.message}
    if isinstance(value, BigInt):
        value = int(value)
    if isinstance(value, int) and value.bit_length() > _LONG_BITS:
        return _marked(value)
    return None if value is UNDEFINED else value


def storable(value: Any) -> Any:
    """A plain value with its large integers marked."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return _marked(value)
    if isinstance(value, Mapping):
        return {key: storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [storable(item) for item in value]
    return value


def unstorable_key(value: Any) -> str | None:
    """A key in a plain value that no checkpoint holds, with half of a surrogate pair."""
    if isinstance(value, list):
        return next((key for item in value if (key := unstorable_key(item)) is not None), None)
    if not isinstance(value, Mapping):
        return None
    for key, item in value.items():
        if isinstance(key, str) and _is_broken(key):
            return key
        if (inner := unstorable_key(item)) is not None:
            return inner
    return None


def read(value: Any) -> Any:
    """A storable value with its marks replaced by integers."""
    if isinstance(value, list):
        return [read(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if {*value} == {_MARK} and isinstance(value[_MARK], str):
        return _integer(value[_MARK], value)
    return {key: read(item) for key, item in value.items()}


def _is_broken(text: str) -> bool:
    """Whether a text has no UTF-8 form."""
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)


def _marked(value: int) -> dict[str, str]:
    return {_MARK: hex(value) if value.bit_length() > _LONG_BITS else str(value)}


def _integer(digits: str, instead: Any) -> Any:
    """The integer with these digits; `instead` if they are none, which a schema refuses."""
    try:
        return int(digits, 0)
    except ValueError:
        return instead
