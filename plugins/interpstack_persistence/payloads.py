"""Payloads of records: the bytes of a state, and their compression.

Layout: the lengths of the next three parts (4 bytes each, little endian), the names of engine and
base as JSON, the image, the values as JSON. No image has length 0; no values, 2**32 - 1.

Compressed, a payload is a Zstandard frame, whose dictionary is the payload before it; or `IPP1`,
the size of the payload (8 bytes, little endian), and the frame of a patch of the payload before it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

import zstandard

from interpstack import Image, SessionState
from interpstack.checks import listed
from interpstack_agents import RecordRejected
from interpstack_persistence.patches import apply_patch, make_patch

__all__ = [
    "MAX_EXPANDED",
    "compress",
    "compress_after",
    "decompress",
    "expanded_bytes",
    "pack_payload",
    "unpack_payload",
]

_HEAD: Final = struct.Struct("<III")
_NONE: Final = 2**32 - 1
#: Bytes of portable values that are stored beside an image.
_MAX_VALUES: Final = 16 * 2**20
#: What is stored of a value for which there is no room.
_NO_ROOM: Final = '{"$":"lost","v":"the stored values have no room for it"}'
#: Names of variables that a notice lists.
_NAMES: Final = 50
#: Bytes that a record may expand to, and all records of a chain together.
MAX_EXPANDED: Final = 256 * 2**20
_MAX_STATE: Final = MAX_EXPANDED - 2**20
#: Payloads from this size on are patched, if they and those before them have enough in common.
_PATCHED: Final = 2**19
_MAGIC: Final = b"IPP1"
_SIZE: Final = struct.Struct("<Q")
#: Bytes of the longest payload that serves as a dictionary; the search needs as much memory again.
_MAX_DICTIONARY: Final = 2**24
#: Payloads up to these sizes are worth slower compression.
_SMALL: Final = 2**17
_SMALL_LEVEL: Final = 5
_TINY: Final = 2**13
_TINY_LEVEL: Final = 9
#: Level without a dictionary; with a dictionary, a higher level finds no more matches.
_LEVEL: Final = 3
_LEVEL_BEHIND: Final = 2


def pack_payload(state: SessionState, max_bytes: int | None) -> tuple[bytes, str]:
    """A state as bytes, and a notice if a part of the state had to be omitted.

    Args:
        state: The state to store.
        max_bytes: Largest state to store; `None` for no limit.
    """
    image, notice = state.image, ""
    limit = min(max_bytes or _MAX_STATE, _MAX_STATE)
    values, omitted = _fitted(state.values, _MAX_VALUES)
    size = (len(image.data) if image else 0) + len(values or b"")
    if size > limit:
        # Values are the smaller half; without them an upgrade would lose this state.
        image, notice = None, _too_large(size, limit)
        values, omitted = _fitted(state.values, min(limit, _MAX_VALUES))
        omitted += _lost_names(state.values)
    if image is None and omitted:
        notice = f"{notice} Not stored: {_listed(omitted)}.".lstrip()
    names = json.dumps([image.engine, image.base]).encode() if image else b""
    data = image.data if image else b""
    lengths = _HEAD.pack(len(names), len(data), _NONE if values is None else len(values))
    return b"".join((lengths, names, data, values or b"")), notice


def unpack_payload(payload: bytes) -> SessionState:
    """The state that was passed to `pack_payload`.

    Raises:
        RecordRejected: These bytes are not a state.
    """
    try:
        return _state(payload)
    except (struct.error, ValueError, RecursionError) as error:
        raise RecordRejected(f"the stored state is damaged: {error}") from error


def _state(payload: bytes) -> SessionState:
    names_bytes, image_bytes, values_bytes = _HEAD.unpack_from(payload)
    image_start = _HEAD.size + names_bytes
    values_start = image_start + image_bytes
    end = values_start + (0 if values_bytes == _NONE else values_bytes)
    if end != len(payload):
        raise ValueError("its length is wrong")
    image = None
    if names_bytes:
        engine, base = _texts(payload[_HEAD.size : image_start])
        image = Image(engine, base, payload[image_start:values_start])
    return SessionState(
        image=image, values=None if values_bytes == _NONE else _values(payload[values_start:])
    )


def compress(payload: bytes) -> bytes:
    """A payload by itself."""
    return _framed(payload, b"")


def compress_after(before: bytes, payload: bytes) -> bytes | None:
    """A payload as its difference from another one.

    `None` if the other one is too long, and has too little in common with it.
    """
    patch = make_patch(before, payload) if len(payload) >= _PATCHED else None
    if patch is not None:
        return b"".join((_MAGIC, _SIZE.pack(len(payload)), compress(patch)))
    return _framed(payload, before) if len(before) <= _MAX_DICTIONARY else None


def decompress(data: bytes, before: bytes = b"") -> bytes:
    """The payload that was compressed, by itself or after `before`.

    Raises:
        RecordRejected: It is damaged, or expands without end.
    """
    if not 0 <= expanded_bytes(data) <= MAX_EXPANDED:
        raise RecordRejected(f"the stored state expands to more than {MAX_EXPANDED} bytes")
    size, frame = _parts(data)
    decompressor = zstandard.ZstdDecompressor(
        dict_data=_dictionary(before if size is None else b""), max_window_size=4 * MAX_EXPANDED
    )
    try:
        text = decompressor.decompress(frame)
        return text if size is None else apply_patch(before, text, size)
    except zstandard.ZstdError as error:
        raise RecordRejected(f"the stored state is damaged: {error}") from error
    except ValueError as error:
        raise RecordRejected(f"the stored state is damaged: in its patch, {error}") from error


def expanded_bytes(data: bytes) -> int:
    """The largest number of bytes that `decompress` can make of these; -1 if they declare none.

    Raises:
        RecordRejected: These bytes are no compressed payload.
    """
    size, frame = _parts(data)
    try:
        declared = zstandard.frame_content_size(frame)
    except zstandard.ZstdError as error:
        raise RecordRejected(f"the stored state is damaged: {error}") from error
    return declared if size is None or declared < 0 else declared + size


def _parts(data: bytes) -> tuple[int | None, bytes]:
    """The size of a patched payload, `None` for others, and the frame."""
    start = len(_MAGIC) + _SIZE.size
    if data[: len(_MAGIC)] != _MAGIC or len(data) < start:
        return None, data
    return _SIZE.unpack_from(data, len(_MAGIC))[0], data[start:]


def _framed(payload: bytes, before: bytes) -> bytes:
    # The window has to span both texts to match all of `before`.
    sizes = {"window_log": max(10, (len(payload) + len(before)).bit_length())}
    level = _LEVEL
    if len(payload) <= _SMALL:
        # Tables of the sizes meant for large texts take longer to make than to use.
        level = _TINY_LEVEL if len(payload) <= _TINY else _SMALL_LEVEL
        sizes["source_size"], sizes["dict_size"] = len(payload), len(before)
    elif before:
        # With fewer than a quarter as many entries as bytes, most matches are missed.
        level, sizes["hash_log"] = _LEVEL_BEHIND, max(16, len(before).bit_length() - 2)
    parameters = zstandard.ZstdCompressionParameters.from_level(level, **sizes)
    compressor = zstandard.ZstdCompressor(
        compression_params=parameters, dict_data=_dictionary(before)
    )
    return compressor.compress(payload)


def _dictionary(before: bytes) -> zstandard.ZstdCompressionDict | None:
    if not before:
        return None
    return zstandard.ZstdCompressionDict(before, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _fitted(values: Mapping[str, Any] | None, limit: int) -> tuple[bytes | None, list[str]]:
    """Values as text, and the names of the largest that had to be omitted from it.

    `None` if there are none, or if even their names have no room.
    """
    if values is None:
        return None, []
    text = json.dumps(dict(values), separators=(",", ":")).encode()
    if len(text) <= limit:
        return text, []
    parts = {name: json.dumps(wire, separators=(",", ":")) for name, wire in values.items()}
    left, omitted = len(text), list[str]()
    for name in sorted(parts, key=lambda name: -len(parts[name])):
        if left <= limit or len(parts[name]) <= len(_NO_ROOM):
            break
        left -= len(parts[name]) - len(_NO_ROOM)
        parts[name] = _NO_ROOM
        omitted.append(name)
    if left > limit:
        return None, list(values)
    fitted = ",".join(f"{json.dumps(name)}:{part}" for name, part in parts.items())
    return f"{{{fitted}}}".encode(), omitted


def _lost_names(values: Mapping[str, Any] | None) -> list[str]:
    found = (values or {}).items()
    return [name for name, wire in found if isinstance(wire, dict) and wire.get("$") == "lost"]


def _listed(names: Sequence[str]) -> str:
    return listed(sorted(set(names)), _NAMES)


def _values(text: bytes) -> Mapping[str, Any]:
    if len(text) > _MAX_VALUES:
        raise ValueError(f"its values have more than {_MAX_VALUES} bytes")
    values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError("its values are not an object")  # noqa: TRY004 - damage, like the rest
    return values


def _texts(text: bytes) -> tuple[str, str]:
    found = json.loads(text)
    if not isinstance(found, list) or [type(item) for item in found] != [str, str]:
        raise ValueError("it does not name engine and base")
    return found[0], found[1]


def _too_large(size: int, limit: int) -> str:
    return (
        f"The state of this session has {size} bytes, more than the {limit} that are stored; "
        "functions and classes will not outlive this turn, and values only if they are small."
    )
