"""The values that `display` accepts, and the attachments that they become."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from interpstack import UNDEFINED
from interpstack_display.attachments import Attachment
from interpstack_display.blocks import KINDS, split_data_url, to_block
from interpstack_display.tables import check_parts, is_table, json_text, markdown_table

__all__ = ["read_attachments"]

_TYPE_FIELDS: Final = ("mimeType", "mime_type")
_NAME_FIELDS: Final = ("name", "filename")
_TEXT: Final = "text/plain"
_BAD_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})", re.ASCII)
#: Characters that are decoded at once; other threads wait until that is done.
_PIECE_CHARS: Final = 2**16
#: The media types of blocks, where the type of the block names a family of them.
_FAMILIES: Final = {"audio": "audio/", "image": "image/", "video": "video/"}


def read_attachments(
    value: Any, mime_type: str | None = None, name: str | None = None
) -> Iterator[Attachment]:
    """The attachments that a value becomes, made one by one.

    Args:
        value: A decoded value of a guest, see the table in the how-to page on images and files.
        mime_type: The media type that code passed beside the value.
        name: The name that code passed beside the value.

    Raises:
        ValueError: The value cannot be shown. The message says what is accepted.
    """
    check_parts(value)  # once, and not for each content block inside another one
    yield from _read(value, mime_type, name)


def _read(value: Any, mime_type: str | None, name: str | None) -> Iterator[Attachment]:
    if value is None or value is UNDEFINED:
        raise ValueError("display takes bytes, a data URL, a text, a table or an object")
    if isinstance(value, bytes):
        yield Attachment.of(value, mime_type, name)
    elif isinstance(value, str):
        yield _of_text(value, mime_type, name)
    elif _holds_content(value):
        content = value["content"] if isinstance(value, Mapping) else value
        for item in content:
            yield from _read(item, mime_type, name)
    elif isinstance(value, Mapping) and _is_file(value):
        yield _of_file(value, mime_type, name)
    else:
        yield _of_data(value, mime_type, name)


# -- texts ---------------------------------------------------------------------------------


def _of_text(text: str, mime_type: str | None, name: str | None) -> Attachment:
    parts = split_data_url(text)
    if parts is None:
        return _text(text, mime_type or _TEXT, name)
    own, is_base64, body = parts
    if own and mime_type is not None and own.lower() != mime_type.lower():
        raise ValueError(f"the data URL is of the type {own[:100]!r}, not {mime_type[:100]!r}")
    if is_base64:
        return Attachment.of(_decoded(body), own or mime_type, name)
    return Attachment.of(_unquoted(body), own or mime_type or _TEXT, name)


def _unquoted(text: str) -> bytes:
    made, at = bytearray(), 0
    while at < len(text):
        piece = text[at : at + _PIECE_CHARS]
        cut = piece.rfind("%", -2) if at + _PIECE_CHARS < len(text) else -1
        piece = piece[:cut] if cut > 0 else piece
        if _BAD_PERCENT.search(piece):
            raise ValueError("the data URL has a % that is not followed by two hexadecimal digits")
        made += unquote_to_bytes(piece)
        at += len(piece)
    return bytes(made)


def _text(text: str, mime_type: str, name: str | None) -> Attachment:
    if not text:
        raise ValueError("there is nothing to show: the text is empty")
    # A lone surrogate has no form in UTF-8.
    return Attachment.of(text.encode("utf-8", "backslashreplace"), mime_type, name)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(
            "the data are not Base64 without spaces and with padding; pass bytes, or a text "
            "in the field text"
        ) from None


# -- blocks and files ----------------------------------------------------------------------


def _holds_content(value: Any) -> bool:
    """Whether a value is a list of content blocks, or an answer of MCP or LangChain with one."""
    if isinstance(value, Mapping):
        value = value.get("content")
    return isinstance(value, list) and bool(value) and all(map(_is_item, value))


def _is_item(value: Any) -> bool:
    """Whether a value is one content block, as part of a list of them."""
    if not isinstance(value, Mapping):
        return False
    kind = value.get("type")
    return to_block(value) is not None or (
        (kind in ("text", "text-plain") and isinstance(value.get("text"), str))
        or (kind == "resource" and isinstance(value.get("resource"), Mapping))
    )


def _is_file(value: Mapping[str, Any]) -> bool:
    """Whether an object is one file: a content block, or data with a media type."""
    if _is_item(value) or value.get("type") in KINDS:
        return True
    typed = any(isinstance(value.get(field), str) for field in _TYPE_FIELDS)
    held = [field for field in ("data", "base64", "text") if field in value]
    return bool(held) and (typed or isinstance(value.get("data"), bytes))


def _of_file(value: Mapping[str, Any], mime_type: str | None, name: str | None) -> Attachment:
    resource = value.get("resource")
    if value.get("type") == "resource" and isinstance(resource, Mapping) and "text" in resource:
        value = resource
    value = to_block(value) or value
    own = next((value[f] for f in _TYPE_FIELDS if value.get(f) is not None), None)
    if own is not None and mime_type is not None and own != mime_type:
        raise ValueError("two different media types are given")
    own = mime_type if own is None else own
    name = next((value[f] for f in _NAME_FIELDS if value.get(f) is not None), name)
    if isinstance(value.get("text"), str):
        return _text(value["text"], own or _TEXT, name)
    made = Attachment.of(_bytes_of(value), own, name)
    family = _FAMILIES.get(str(value.get("type")), "")
    if not made.mime_type.startswith(family):
        raise ValueError(f"a block of the type {value['type']} cannot hold {made.mime_type}")
    return made


def _bytes_of(value: Mapping[str, Any]) -> bytes:
    data = value.get("data", value.get("base64"))
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return _decoded(data)
    if any(field in value for field in ("url", "image_url", "file_id")):
        raise ValueError("display takes data, not an address; fetch the file, and show its bytes")
    raise ValueError("put the bytes of a file, or their Base64, in the field data")


# -- other values --------------------------------------------------------------------------


def _of_data(value: Any, mime_type: str | None, name: str | None) -> Attachment:
    """A table or JSON; code may only choose between these two."""
    table = is_table(value)
    accepted = {"text/markdown": markdown_table} if table else {}
    forms = {**accepted, "application/json": json_text}
    chosen = mime_type or next(iter(forms))
    if chosen not in forms:
        raise ValueError(
            f"a table or an object is shown as {' or '.join(forms)}; for {chosen[:100]!r}, pass a "
            "text or bytes"
        )
    return _text(forms[chosen](value), chosen, name)
