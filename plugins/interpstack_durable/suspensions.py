"""The stored form of an unfinished run of a cell: one JSON text."""

from __future__ import annotations

import json

from interpstack_durable.forms import VERSION
from interpstack_durable.journal import Suspension
from interpstack_protocol import from_json, to_json

__all__ = ["read_suspension", "suspension_text"]


def suspension_text(suspension: Suspension) -> str:
    """The stored form."""
    told = {"version": VERSION, **to_json(suspension)}
    return json.dumps(told, separators=(",", ":"))


def read_suspension(text: str) -> Suspension | None:
    """The suspension that a text holds.

    `None` if another release wrote it, or if it is damaged: the cell can be run again.
    """
    try:
        told = json.loads(text)
        if not isinstance(told, dict) or told.pop("version", None) != VERSION:
            return None
        suspension = from_json(Suspension, told)
    except (ValueError, RecursionError):  # `ProtocolError` is a `ValueError`
        return None
    # An engine that counted on from cell to cell numbers its requests in another way now.
    return None if suspension.before else suspension
