"""Content blocks: the forms in which tools and models pass images and files inside their answers.

LangChain, MCP and the providers of models each write such a block in a way of their own. Code sees
one form: `{"type": "image", "mimeType": "image/png", "data": "<Base64>"}`, with all other fields
of the block beside these three.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from interpstack.checks import expect

__all__ = ["KINDS", "DataUrl", "split_data_url", "to_block"]

#: Types of blocks that hold data.
KINDS: Final = ("audio", "file", "image", "video")
#: Other names of types, in the APIs of single providers.
_OTHER_KINDS: Final = {"document": "file", "image_url": "image", "input_image": "image"}
_TYPE_FIELDS: Final = ("mimeType", "mime_type", "media_type")
_DATA_URL: Final = re.compile(r"data:([^,;]*)((?:;[^,;]*)*),", re.IGNORECASE)
#: Characters of the part of a data URL before its data.
_HEAD_CHARS: Final = 400

#: The media type, whether the data are in Base64, and the data.
DataUrl = tuple[str, bool, str]


def split_data_url(text: str) -> DataUrl | None:
    """The parts of a data URL; `None` for any other text."""
    if text[:5].lower() != "data:":
        return None
    head = _DATA_URL.match(text[:_HEAD_CHARS])
    if head is None:
        return None
    parameters = [one.strip().lower() for one in head[2].split(";")]
    return head[1].strip(), parameters[-1] == "base64", text[head.end() :]


def to_block(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """A content block in the form that code sees; `None` for anything but a block with its data.

    Nothing is decoded: `data` is the Base64, or the bytes, that the block holds.

    Args:
        value: A block of LangChain or MCP, or of the API of Anthropic or OpenAI.

    Raises:
        ConfigurationError: `value` is not a mapping.
    """
    expect(value, Mapping, "to_block takes a content block, which is a mapping")
    kind = value.get("type")
    if kind == "resource" and isinstance(value.get("resource"), Mapping):
        return _resource(value, value["resource"])
    kind = _OTHER_KINDS.get(kind, kind) if isinstance(kind, str) else None
    if kind not in KINDS:
        return None
    found = _with_source(value) or _with_url(value) or _with_data(value)
    if found is None:
        return None
    used, mime_type, data = found
    rest = {key: item for key, item in value.items() if key not in ("type", *used)}
    made = {"type": kind, "mimeType": mime_type, "data": data, **rest}
    if mime_type is None:
        del made["mimeType"]
    return made


#: Names of the fields that a form uses, the media type if it names one, and the data.
_Found = tuple[tuple[str, ...], str | None, str | bytes]


def _resource(value: Mapping[str, Any], resource: Mapping[str, Any]) -> dict[str, Any] | None:
    """A file that MCP embeds: `{"type": "resource", "resource": {"uri", "mimeType", "blob"}}`."""
    if not isinstance(resource.get("blob"), str):
        return None
    rest = {key: item for key, item in value.items() if key not in ("type", "resource")}
    rest |= {key: item for key, item in resource.items() if key != "blob"}
    return {"type": "file", **rest, "data": resource["blob"]}


def _with_source(value: Mapping[str, Any]) -> _Found | None:
    """The form `{"type": "image", "source": {"type": "base64", "media_type", "data"}}`."""
    source = value.get("source")
    if not isinstance(source, Mapping) or source.get("type") != "base64":
        return None
    mime_type, data = source.get("media_type"), source.get("data")
    if not isinstance(mime_type, str) or not isinstance(data, str):
        return None
    return ("source",), mime_type, data


def _with_url(value: Mapping[str, Any]) -> _Found | None:
    """The forms with a data URL, in `url`, `image_url` or `image_url.url`."""
    for field in ("image_url", "url"):
        url = value.get(field)
        if isinstance(url, Mapping):
            url = url.get("url")
        parts = split_data_url(url) if isinstance(url, str) else None
        if parts is not None and parts[1]:
            return (field,), parts[0] or None, parts[2]
    return None


def _with_data(value: Mapping[str, Any]) -> _Found | None:
    """The forms with the data beside their type, in `data` or `base64`."""
    named = next((field for field in _TYPE_FIELDS if isinstance(value.get(field), str)), None)
    mime_type = None if named is None else value[named]
    used = () if named is None else (named,)
    if isinstance(value.get("base64"), str):
        return (*used, "base64"), mime_type, value["base64"]
    data = value.get("data")
    if isinstance(data, bytes) or (isinstance(data, str) and mime_type is not None):
        return (*used, "data", "source_type"), mime_type, data
    return None
