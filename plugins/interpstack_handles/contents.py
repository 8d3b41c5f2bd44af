"""Contents of handles: how a value is stored, what is known of it, and parts of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import attrs

from interpstack import StandIn, decode, encode, simplified
from interpstack.values import TooLarge

__all__ = ["HandleRecord", "fits", "item_at", "packed", "unpacked"]

#: Characters of a preview, and of a name.
_PREVIEW: Final = 200
_NAME: Final = 100
#: Columns, and fields of an object, that a shape names.
_NAMED: Final = 40
#: Rows whose fields are compared to name the columns of a table.
_COMPARED: Final = 100
#: Characters of the name of a column or field in a shape.
_FIELD: Final = 60
#: Steps of a path.
_STEPS: Final = 100
_STEP: Final = re.compile(
    r"""\.?(?P<name>[^.\[\]'"]+)|\[(?P<index>\d{1,16})\]|\[(?P<key>"[^"]*"|'[^']*')\]"""
)

Kind = Literal["text", "bytes", "json"]


@attrs.frozen(kw_only=True)
class HandleRecord:
    """What is known of a value that stays with the host; the value itself never changes.

    Attributes:
        id: Made of the name and the content, so that a replay of a cell has the same.
        name: The name that code gave, or that of the tool which returned the value.
        kind: How the content is stored.
        type: `text`, `bytes`, `table` (a list of objects), `list`, `object` or `value`.
        shape: Counts of its parts, and names of columns or fields.
        size: Bytes of the stored content.
        preview: The beginning of its text.
        digest: SHA-256 of the content, in hexadecimal.
    """

    id: str
    name: str
    kind: Kind
    type: str
    shape: Mapping[str, Any]
    size: int
    preview: str
    digest: str

    def stand_in(self, *, digest: bool = False) -> StandIn:
        """The stand-in for code; with the `digest`, that for a person who decides about a call."""
        about = {
            "name": self.name,
            "type": self.type,
            "shape": dict(self.shape),
            "size": self.size,
            "preview": self.preview,
        }
        return StandIn(self.id, {**about, "digest": self.digest} if digest else about)


def packed(value: Any, name: str, most: int) -> tuple[HandleRecord, bytes]:
    """A value in stored form, and what is known of it.

    Args:
        value: Any value that could cross to code.
        name: The name of the handle.
        most: Bytes that the content may have.

    Raises:
        UnsupportedValue: The value has no form in code, or is too large.
    """
    kind, data = _stored(value, most)
    held = unpacked(kind, data)
    type_, shape = _shape(held)
    name = name[:_NAME]
    named = json.dumps([name, kind]).encode() + b"\0"
    record = HandleRecord(
        id="h_" + hashlib.blake2b(named + data, digest_size=12).hexdigest(),
        name=name,
        kind=kind,
        type=type_,
        shape=shape,
        size=len(data),
        preview="" if kind == "bytes" else _preview(data),
        digest=hashlib.sha256(data).hexdigest(),
    )
    return record, data


def unpacked(kind: Kind, data: bytes) -> Any:
    """The value of a content."""
    if kind == "bytes":
        return data
    text = data.decode("utf-8", "surrogatepass")
    return text if kind == "text" else decode(json.loads(text))


def fits(value: Any, most: int) -> bool:
    """Whether a value has at most so many bytes; only as much of it is read as that takes.

    Raises:
        UnsupportedValue: It has no form in code.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return memoryview(value).nbytes <= most
    if isinstance(value, str):
        return len(value) * 4 <= most or len(value.encode("utf-8", "surrogatepass")) <= most
    try:
        encode(value, most, simplified)
    except TooLarge:
        return False
    return True


def item_at(value: Any, path: str) -> Any:
    """The part of a value at a path such as `orders[0].lines`; the whole for an empty one.

    Raises:
        LookupError: There is no such part; the message says how far the path goes.
        TypeError: A part on the way is no list, or no object.
        ValueError: The path is malformed.
    """
    at, gone, steps = len(path) - len(path.lstrip("$")), "", 0
    while at < len(path):
        found = _STEP.match(path, at)
        steps += 1
        if found is None or steps > _STEPS:
            raise ValueError(f"{path[:_FIELD]!r} is no path; write it as 'orders[0].lines'")
        if found["index"] is not None:
            value = _item(value, int(found["index"]), gone)
        else:
            name = found["name"] if found["name"] is not None else found["key"][1:-1]
            value = _field(value, name, gone)
        gone, at = path[: found.end()], found.end()
    return value


def _item(value: Any, index: int, gone: str) -> Any:
    if not isinstance(value, list):
        raise TypeError(f"{_named(gone)} is no list, so it has no item {index}")
    if index >= len(value):
        raise LookupError(f"{_named(gone)} has {len(value)} items, counted from 0; not {index}")
    return value[index]


def _field(value: Any, name: str, gone: str) -> Any:
    if not isinstance(value, dict):
        raise TypeError(f"{_named(gone)} is no object, so it has no field {name[:_FIELD]!r}")
    if name not in value:
        known = ", ".join(key[:_FIELD] for key in list(value)[:_NAMED])
        raise LookupError(f"{_named(gone)} has no field {name[:_FIELD]!r}; it has: {known}")
    return value[name]


def _named(gone: str) -> str:
    return f"{gone[-_FIELD:]!r}" if gone else "the value"


def _stored(value: Any, most: int) -> tuple[Kind, bytes]:
    if isinstance(value, str):
        kind: Kind = "text"
        data = value.encode("utf-8", "surrogatepass")
    elif isinstance(value, (bytes, bytearray, memoryview)):
        kind, data = "bytes", bytes(value)
    else:
        kind = "json"
        data = json.dumps(encode(value, most, simplified), separators=(",", ":")).encode()
    if len(data) > most:
        raise TooLarge(most)
    return kind, data


def _shape(value: Any) -> tuple[str, Mapping[str, Any]]:
    if isinstance(value, str):
        return "text", {"characters": len(value), "lines": value.count("\n") + 1}
    if isinstance(value, bytes):
        return "bytes", {"bytes": len(value)}
    if isinstance(value, dict):
        fields = {key[:_FIELD]: _length(item) for key, item in list(value.items())[:_NAMED]}
        return "object", {"keys": len(value), "fields": fields}
    if isinstance(value, list):
        if value and all(isinstance(row, dict) for row in value):
            columns = dict.fromkeys(key for row in value[:_COMPARED] for key in row)
            named = [key[:_FIELD] for key in list(columns)[:_NAMED]]
            return "table", {"rows": len(value), "columns": named}
        return "list", {"items": len(value)}
    return "value", {}


def _length(value: Any) -> str:
    """How much a field holds, in a word or two."""
    if isinstance(value, (str, bytes)):
        return f"{'text' if isinstance(value, str) else 'bytes'} of {len(value)}"
    if isinstance(value, Sequence):
        return f"list of {len(value)}"
    return f"object of {len(value)}" if isinstance(value, Mapping) else "value"


def _preview(data: bytes) -> str:
    text = data[: 4 * _PREVIEW].decode("utf-8", "replace")
    return text if len(text) <= _PREVIEW else text[:_PREVIEW] + "…"
