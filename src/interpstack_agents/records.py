"""Records of a conversation's state, as persistence modes make them one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Record", "are_records", "joined", "token_of"]

Record = Mapping[str, Any]


def joined(state: Any, writes: Sequence[Any]) -> Any:
    """Reduce lists of records to the chain that the newest record needs, oldest first.

    Writes of one step may arrive in any order, and a replay may pass them in other portions; the
    result is the same. If two records have the same number, a complete record wins, else the later
    one. A value that is not a list of records is returned unchanged, so that loading refuses it.
    """
    for write in writes:
        if state and not are_records(state):
            return state
        state = _joined([*(state or ()), *write]) if are_records(write) else write
    return state


def _joined(records: list[Record]) -> list[Record]:
    found: dict[int, Record] = {}
    for record in records:
        known = found.get(record["sequence"])
        if known is None or known.get("previous") or not record.get("previous"):
            found[record["sequence"]] = record
    start = max((n for n, record in found.items() if not record.get("previous")), default=0)
    return [found[number] for number in sorted(found) if number >= start]


def are_records(value: Any) -> bool:
    """Whether a value from a store is a list of records; their contents are not checked."""
    return isinstance(value, list) and all(
        isinstance(item, Mapping) and type(item.get("sequence")) is int for item in value
    )


def token_of(records: Any) -> str:
    """Identifies the newest record; empty without any."""
    if not records:
        return ""
    return str(records[-1].get("id")) if are_records(records) else "damaged"
