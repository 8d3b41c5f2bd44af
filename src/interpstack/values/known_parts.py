"""Inputs of calls as far as the code of a cell tells them, before it runs."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["UNKNOWN", "OpenFields", "is_known", "known_fields"]


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


#: A value that only the run tells.
UNKNOWN: Final = _Unknown()


class OpenFields(dict[str, Any]):
    """The fields of an object that may have more of them."""


def is_known(value: Any) -> bool:
    """Whether all parts of a value are known."""
    parts = [value]
    for part in parts:
        if part is UNKNOWN or isinstance(part, OpenFields):
            return False
        if isinstance(part, dict):
            parts += part.values()
        elif isinstance(part, list):
            parts += part
    return True


def known_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields whose values are known."""
    return {name: value for name, value in fields.items() if is_known(value)}
