"""Integers that are larger than QuickJS's BigInt, kept from entering the guest.

The kernel makes a BigInt from hexadecimal digits. Of too many of them QuickJS makes none, and the
error is one of the kernel's, which no code of the guest can catch. V8 and Monty take such integers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import attrs

from interpstack import GuestError, Settlement

__all__ = ["MOST_DIGITS", "fitting_answer", "fitting_values"]

#: Hexadecimal digits of the largest integer that QuickJS reads.
MOST_DIGITS: Final = 262_143
#: What is wrong with a larger one.
_TOO_LARGE: Final = f"an integer in it has more than {MOST_DIGITS} hexadecimal digits"
_TAG: Final = '"bigint"'


def fitting_answer(settlement: Settlement) -> Settlement:
    """The settlement, or a `RangeError` in place of an answer that holds too large an integer."""
    text = settlement.text
    if settlement.error is not None or len(text) <= MOST_DIGITS or _TAG not in text:
        return settlement
    if not _holds_large(json.loads(text)):
        return settlement
    message = (
        f"the answer cannot enter the guest: {_TOO_LARGE}, the most that QuickJS can hold; "
        "return it as text"
    )
    return attrs.evolve(settlement, text="null", error=GuestError("RangeError", message))


def fitting_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Portable values of globals; those that hold too large an integer are lost."""
    lost = {"$": "lost", "v": f"{_TOO_LARGE}, the most that QuickJS can hold"}
    return {name: lost if _holds_large(value) else value for name, value in values.items()}


def _holds_large(wire: Any) -> bool:
    """Whether a wire tree holds a BigInt that QuickJS cannot make."""
    level = [wire]
    while level:
        item = level.pop()
        if type(item) is list:
            level += item
        elif isinstance(item, Mapping):
            if item.get("$") == "bigint" and _is_large(item.get("v")):
                return True
            level += item.values()
    return False


def _is_large(digits: Any) -> bool:
    if not isinstance(digits, str) or len(digits) <= MOST_DIGITS:
        return False
    return len(digits.lstrip("-").lstrip("0")) > MOST_DIGITS
