"""Walks through JSON Schemas to render them as types of a language.

Schemas come from tool authors and MCP servers, so they may hold anything: a schema that the
language has no type for becomes its type for anything.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar, Final
from urllib.parse import unquote

__all__ = ["BYTES", "Compound", "SchemaWalk", "needed", "one_line", "says_nothing"]

#: The format of what is bytes in the language, where `binary` would be text that stands for them.
BYTES: Final = "interpstack-bytes"

_MAX_DEPTH: Final = 12
#: Keywords of a schema that may say nothing of a value's parts.
_SAYS_NOTHING: Final = frozenset(
    {"additionalProperties", "description", "items", "properties", "title", "type"}
)
#: Schemas inside one schema that are rendered; references can multiply without end.
_MAX_NODES: Final = 2000


class Compound(str):
    """A type that needs parentheses inside another."""

    __slots__ = ()


def one_line(text: Any) -> str:
    """Text of a schema on one line; empty if it is not text."""
    return " ".join(text.split()) if isinstance(text, str) else ""


class SchemaWalk(abc.ABC):
    """Base class that renders JSON Schemas as types; each root schema needs its own object.

    Args:
        root: Where `$ref`s are looked up. A reference to a schema that is being rendered
            becomes the type for anything.
        gives: Whether the schema is of a tool's output, not of its input.
    """

    #: The language's type for anything, and the one for nothing.
    anything: ClassVar[str]
    nothing: ClassVar[str]
    #: Types without parts, by their name in a schema.
    scalars: ClassVar[Mapping[str, str]]

    #: Type of a string with the format `BYTES` and, in an answer, of one with the format `binary`.
    binary: ClassVar[str]

    def __init__(self, root: Any, gives: bool = False) -> None:
        self._root = root
        self._binary = (BYTES, "binary") if gives else (BYTES,)
        self._open: list[str] = []
        self._nodes = 0

    @abc.abstractmethod
    def literal(self, value: Any) -> str:
        """The type of one value."""

    @abc.abstractmethod
    def array(self, items: Any, fixed: list[Any] | None, depth: int) -> str:
        """A list; `fixed` are the schemas of its first items, if they have their own."""

    @abc.abstractmethod
    def fields(self, schema: Mapping[str, Any], depth: int) -> str:
        """An object with named fields."""

    @abc.abstractmethod
    def mapping(self, value: str) -> str:
        """An object whose fields have any names, and one type."""

    @abc.abstractmethod
    def intersection(self, parts: list[str]) -> str:
        """The type of values that are of all these types at once."""

    def target(self, schema: Any) -> Mapping[str, Any]:
        """The schema that a schema refers to, or itself; empty if there is none."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
                break
            schema = self._look_up(schema["$ref"])
        return schema if isinstance(schema, Mapping) else {}

    def render(self, schema: Any, depth: int) -> str:
        """A schema as a type; a schema that lies too deep becomes the type for anything."""
        self._nodes += 1
        if schema is False:
            return self.nothing
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH or self._nodes > _MAX_NODES:
            return self.anything
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema["$ref"], depth)
        if "const" in schema:
            return self.literal(schema["const"])
        if isinstance(schema.get("enum"), list):
            return self.union([self.literal(value) for value in schema["enum"]])
        parts = [part for part in self._combined(schema, depth) if part != self.anything]
        own = self._by_type(schema, depth)
        if not parts:
            return own
        # A type beside the parts adds something only if it names fields of its own.
        named = isinstance(schema.get("properties"), Mapping) and schema["properties"]
        return self.intersection([own, *parts] if named else parts)

    def union(self, options: list[str]) -> str:
        """The type of values that are of one of these types."""
        unique = list(dict.fromkeys(options))
        if self.anything in unique:
            return self.anything
        some = [option for option in unique if option != self.nothing]
        if len(some) < 2:
            return some[0] if some else self.nothing
        return Compound(" | ".join(map(str, some)))

    def _combined(self, schema: Mapping[str, Any], depth: int) -> list[str]:
        """The types that `anyOf`, `oneOf` and `allOf` require together."""
        parts = [
            self.union([self.render(option, depth + 1) for option in schema[key]])
            for key in ("anyOf", "oneOf")
            if isinstance(schema.get(key), list)
        ]
        if isinstance(schema.get("allOf"), list):
            parts += [self.render(option, depth + 1) for option in schema["allOf"]]
        return parts

    def _by_type(self, schema: Mapping[str, Any], depth: int) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            return self.union([self._by_type({**schema, "type": k}, depth) for k in kind])
        if kind == "array" or "prefixItems" in schema:
            return self._array(schema, depth)
        if kind == "object" or "properties" in schema:
            return self._object(schema, depth)
        if kind == "string" and schema.get("format") in self._binary:
            return self.binary
        return self.scalars.get(kind, self.anything) if isinstance(kind, str) else self.anything

    def _array(self, schema: Mapping[str, Any], depth: int) -> str:
        fixed, items = schema.get("prefixItems"), schema.get("items", True)
        if isinstance(items, list):  # the form of older drafts
            fixed, items = items, False
        return self.array(items, fixed if isinstance(fixed, list) and fixed else None, depth)

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        properties = schema.get("properties")
        extra = schema.get("additionalProperties")
        if isinstance(properties, Mapping) and properties:
            return self.fields(schema, depth)
        whole = isinstance(extra, Mapping)
        return self.mapping(self.render(extra, depth + 1) if whole else self.anything)

    def _reference(self, reference: str, depth: int) -> str:
        if reference in self._open:
            return self.anything
        self._open.append(reference)
        try:
            return self.render(self._look_up(reference), depth + 1)
        finally:
            self._open.pop()

    def _look_up(self, reference: str) -> Any:
        """The schema a JSON Pointer names; `None` if it names none."""
        if not reference.startswith("#"):
            return None
        target = self._root
        for part in unquote(reference[1:]).strip("/").split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping):
                target = target if not part else target.get(key)
            elif isinstance(target, list) and key.isdecimal() and len(key) < 6:
                target = target[int(key)] if int(key) < len(target) else None
            else:
                return None
        return target


def needed(schema: Mapping[str, Any]) -> frozenset[str]:
    """Names of the fields that an object must have."""
    required = schema.get("required")
    return frozenset(map(str, required)) if isinstance(required, list) else frozenset()


def says_nothing(schema: Any) -> bool:
    """Whether a schema names no field and no type inside lists and objects, as `list[dict]`."""
    for _ in range(_MAX_DEPTH):
        if schema is None or schema is True:
            return True
        if not isinstance(schema, Mapping) or schema.keys() - _SAYS_NOTHING:
            return False
        kind = schema.get("type")
        if kind not in (None, "array", "object") or schema.get("properties"):
            return False
        inner = "items" if kind == "array" else "additionalProperties"
        schema = schema.get(inner)
    return False
