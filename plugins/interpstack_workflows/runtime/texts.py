"""Values of a script as text, and JSON texts of a script as values."""

from __future__ import annotations

import json
from typing import Any

from interpstack.values import read_json

__all__ = ["parsed", "shown"]


def parsed(text: str) -> Any:
    """Return the value of a JSON text that a guest wrote.

    Raises:
        ValueError: The text is not JSON, or is nested too deeply.
    """
    try:
        return read_json(text)
    except RecursionError:
        raise ValueError("the value is nested too deeply") from None


def shown(value: Any) -> str:
    """Return a value as one piece of a line: a string as it is, other values as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
