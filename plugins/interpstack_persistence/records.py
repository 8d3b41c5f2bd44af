"""The stored form of a state.

A record holds the engine's image and, beside it, portable values, so that a state outlives an
upgrade of the engine or a switch to another. All of it is covered by a checksum and, with a key,
by a signature, together with the conversation it belongs to; both are verified before anything
is parsed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Final

import zstandard

from interpstack import Image, RecordRejected, SessionState

__all__ = ["pack_record", "unpack_record"]

_VERSION: Final = 1
#: Bytes of portable values that are stored beside an image.
_MAX_VALUES: Final = 4 * 2**20
#: Bytes that stored values may expand to.
_MAX_EXPANDED: Final = 64 * 2**20
_LEVEL: Final = 3


def pack_record(
    state: SessionState, owner: str, sequence: int, max_bytes: int | None, key: bytes | None
) -> tuple[Mapping[str, Any], str]:
    """See `Persistence.dump`."""
    image, values, notice = state.image, _pack_values(state.values), ""
    size = (len(image.data) if image else 0) + len(values)
    if max_bytes is not None and size > max_bytes:
        # Values are the smaller half; without them an upgrade would lose this state.
        image, notice = None, _too_large(size, max_bytes)
        if len(values) > max_bytes:
            values = b""
    record: dict[str, Any] = {
        "version": _VERSION,
        "sequence": sequence,
        "engine": image.engine if image else "",
        "base": image.base if image else "",
        "image": image.data if image else b"",
        "values": values,
    }
    record["checksum"] = hashlib.sha256(_covered(record, owner)).digest()
    if key is not None:
        record["signature"] = _sign(record, owner, key)
    return record, notice


def unpack_record(record: Mapping[str, Any], owner: str, key: bytes | None) -> SessionState:
    """See `Persistence.load`."""
    _check_shape(record)
    if key is not None:
        signature = record.get("signature")
        if not isinstance(signature, bytes):
            raise RecordRejected("the stored state has no signature, but a signing key is set")
        if not hmac.compare_digest(signature, _sign(record, owner, key)):
            raise RecordRejected(
                "the stored state's signature does not fit: it was changed, signed with another "
                "key, or belongs to another conversation"
            )
    if record["version"] != _VERSION:
        raise RecordRejected(f"the stored state has version {record['version']}, not {_VERSION}")
    if record["checksum"] != hashlib.sha256(_covered(record, owner)).digest():
        raise RecordRejected("the stored state is damaged, or belongs to another conversation")
    image = None
    if record["image"]:
        image = Image(record["engine"], record["base"], record["image"])
    return SessionState(image=image, values=_unpack_values(record["values"]))


def _check_shape(record: Mapping[str, Any]) -> None:
    shape = {"version": int, "sequence": int, "engine": str, "base": str}
    shape |= {"image": bytes, "values": bytes, "checksum": bytes}
    for name, kind in shape.items():
        if not isinstance(record, Mapping) or type(record.get(name)) is not kind:
            raise RecordRejected(f"the stored state is damaged: it has no valid {name!r}")


def _pack_values(values: Mapping[str, Any] | None) -> bytes:
    if values is None:
        return b""
    text = json.dumps(dict(values), separators=(",", ":")).encode()
    packed = zstandard.compress(text, _LEVEL)
    return packed if len(packed) <= _MAX_VALUES else b""


def _unpack_values(packed: bytes) -> Mapping[str, Any] | None:
    if not packed:
        return None
    try:
        values = json.loads(_expand(packed))
    except (zstandard.ZstdError, ValueError, RecursionError) as error:
        raise RecordRejected(f"the stored values are damaged: {error}") from error
    if not isinstance(values, dict):
        raise RecordRejected("the stored values are damaged: they are no object")
    return values


def _expand(packed: bytes) -> bytes:
    # Read as a stream: what the frame claims as its size is not to be trusted.
    with zstandard.ZstdDecompressor().stream_reader(packed) as stream:
        text = stream.read(_MAX_EXPANDED + 1)
        if len(text) > _MAX_EXPANDED:
            raise RecordRejected(f"the stored values expand to more than {_MAX_EXPANDED} bytes")
    return text


def _sign(record: Mapping[str, Any], owner: str, key: bytes) -> bytes:
    return hmac.new(key, b"interpstack record\0" + _covered(record, owner), hashlib.sha256).digest()


def _covered(record: Mapping[str, Any], owner: str) -> bytes:
    """All that a record says, each part with its length, so that none can pass for another."""
    names = ("version", "sequence", "engine", "base", "image", "values")
    return b"".join(map(_part, (*(record[name] for name in names), owner)))


def _part(value: bytes | str | int) -> bytes:
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "big") + data


def _too_large(size: int, limit: int) -> str:
    return (
        f"The state of this session has {size} bytes, more than the {limit} that are stored; "
        "functions and classes will not outlive this turn, and values only if they are small."
    )
