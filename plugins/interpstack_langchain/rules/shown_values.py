"""Arguments of calls from code, as rules receive them, and as people and checkpoints see them.

Checkpoints hold integers of 64 bits at most, and JavaScript reads fewer from JSON. A larger integer
is shown as `{"$bigint": "1180591620717411303424"}`, so that it differs from the same digits as
text. In the arguments of an edit, the same form stands for the integer. An object whose only key
is `$bigint`, with any number of `$`, is shown with one more of them. A value that stays with the
host is shown as `{"$handle": "…"}`, with its id, type, size, digest, name and shape, and the
beginning of its text. A text with half of a surrogate pair, which no checkpoint holds, is shown in
the form of `shown_texts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from interpstack import BigInt
from interpstack_agents import (
    Mark,
    has_half,
    read_handles,
    read_texts,
    shown_handles,
    shown_texts,
)

__all__ = ["digestible", "plain", "read", "storable", "unstorable_key"]

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
    return shown_texts(_STORED.marked(shown_handles(value)))


def digestible(value: Any) -> Any:
    """The form of a guest's value that `json.dumps` writes, the same for no two plain values."""
    return _WRITTEN.marked(shown_handles(plain(value)))


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
    return read_handles(_STORED.read(read_texts(value)))


def _text_of(bits: int, value: Any) -> str | None:
    """The digits of an integer that has more than so many bits, beside its sign."""
    if not isinstance(value, int) or -(1 << bits) <= value < 1 << bits:
        return None
    return hex(value) if value.bit_length() > _LONG_BITS else str(value)


def _value_of(digits: str) -> int | None:
    try:
        return int(digits, 0)
    except ValueError:  # a schema refuses what stays
        return None


_STORED: Final = Mark("bigint", partial(_text_of, _STORED_BITS), _value_of)
_WRITTEN: Final = Mark("bigint", partial(_text_of, _LONG_BITS), _value_of)
