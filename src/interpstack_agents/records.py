"""Records of a conversation's state, as persistence modes make them one after another."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["Record", "are_records", "joined", "json_records", "read_json_records", "token_of"]

Record = Mapping[str, Any]
#: The only field of an object that stands for bytes. Fields that begin with `$` get one more.
_BYTES: Final = "$bytes"


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


def json_records(records: Sequence[Record]) -> list[Any]:
    """Records as JSON data, which have no bytes; `read_json_records` reads them."""
    return [_as_json(record) for record in records]


def read_json_records(data: Any) -> Any:
    """The records that `json_records` was given.

    Malformed data are returned as they are, so that loading refuses them.

    Raises:
        ValueError: Bytes are damaged.
    """
    if isinstance(data, list):
        return [read_json_records(item) for item in data]
    if not isinstance(data, dict):
        return data
    if data.keys() == {_BYTES}:
        return b64decode(data[_BYTES], validate=True)
    return {key[key.startswith("$") :]: read_json_records(item) for key, item in data.items()}


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {_BYTES: b64encode(value).decode("ascii")}
    if isinstance(value, Mapping):
        return {"$" * key.startswith("$") + key: _as_json(item) for key, item in value.items()}
    return [_as_json(item) for item in value] if isinstance(value, (list, tuple)) else value
