"""Checks the schema that code gives for a subagent's answer.

The limits equal those of langchain-quickjs: 4096 bytes, 5 levels below the root, 32 properties.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from interpstack import GuestException

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_PROPERTIES", "check_schema"]

MAX_BYTES: Final = 4096
MAX_DEPTH: Final = 5
MAX_PROPERTIES: Final = 32
#: Keywords of which a schema has at least one if it tells anything about an object.
_TELLING: Final = frozenset(
    (
        *("properties", "patternProperties", "additionalProperties", "propertyNames", "required"),
        *("minProperties", "maxProperties", "$ref", "allOf", "anyOf", "oneOf", "not", "const"),
    )
)
_TITLE: Final = "subagent_response"
#: Providers take the title for a function's name.
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)


def check_schema(schema: Any, field: str = "responseSchema") -> Mapping[str, Any]:
    """A schema fit to be handed to a model, with a title.

    Args:
        schema: The schema that code passed.
        field: The argument it came in, for messages.

    Raises:
        GuestException: The schema is not that of an object, or is too large.
    """
    try:
        return _checked(schema)
    except ValueError as error:
        raise GuestException(f"task(): {field!r} {error}", name="TypeError") from None


def _checked(schema: Any) -> Mapping[str, Any]:
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise ValueError('is a JSON Schema with type "object"')
    try:
        size = len(json.dumps(schema, allow_nan=False).encode())
    except (TypeError, ValueError):
        raise ValueError("is plain JSON") from None
    if size > MAX_BYTES:
        raise ValueError(f"may have {MAX_BYTES} bytes as JSON; it has {size}")
    depth = max(level for level, _ in _objects(schema, 0))
    if depth > MAX_DEPTH:
        raise ValueError(f"may nest {MAX_DEPTH} levels; it nests {depth}")
    count = sum(len(node.get("properties", {})) for _, node in _objects(schema, 0))
    if count > MAX_PROPERTIES:
        raise ValueError(f"may have {MAX_PROPERTIES} properties; it has {count}")
    if not _TELLING & schema.keys():
        raise ValueError('does not describe the answer; name its fields in "properties"')
    return {"type": "object", **schema, "title": _title(schema.get("title"))}


def _title(given: Any) -> str:
    name = _NO_NAME.sub("_", given).strip("_")[:64] if isinstance(given, str) else ""
    return name or _TITLE


def _objects(node: Mapping[str, Any], level: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """All schemas inside a schema, with their level."""
    yield level, node
    properties = node.get("properties", {})
    if not isinstance(properties, dict):
        raise ValueError('has an object as "properties"')  # noqa: TRY004 - as all refusals here
    inner: list[Any] = list(properties.values())
    inner += [node.get(key) for key in ("items", "additionalProperties", "not")]
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        found = node.get(key)
        inner += found if isinstance(found, list) else []
    for key in ("$defs", "definitions"):
        found = node.get(key)
        inner += list(found.values()) if isinstance(found, dict) else []
    for child in inner:
        if isinstance(child, dict):
            yield from _objects(child, level + 1)
