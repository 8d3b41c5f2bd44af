"""Signatures of tools as TypeScript, from their JSON Schemas.

Schemas come from tool authors and MCP servers, so anything may stand in them: what cannot be
said in TypeScript becomes `unknown`, and text from a schema can close neither a comment nor a
string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from interpstack import HostTool

__all__ = ["describe_tool", "render_type"]

_MAX_DEPTH: Final = 12
#: Schemas inside one schema that are rendered; references can multiply without end.
_MAX_NODES: Final = 2000
_DEFAULT_CHARS: Final = 60
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_SCALARS: Final = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
}


def describe_tool(name: str, tool: HostTool) -> str:
    """A tool as a documented method signature, as in `webSearch(input: {…}): Promise<string>`."""
    answer = "unknown" if tool.output_schema is None else render_type(tool.output_schema)
    signature = f"{name}({_parameter(tool.input_schema)}): Promise<{answer}>"
    description = _comment(tool.description)
    return f"/** {description} */\n{signature}" if description else signature


def _parameter(schema: Mapping[str, Any]) -> str:
    renderer = _Renderer(schema)
    text = renderer.render(schema, 0)
    target = renderer.target(schema)
    takes_anything = bool(target.get("additionalProperties"))
    if text == "unknown" or (text == "Record<string, unknown>" and not takes_anything):
        return ""
    needed = target.get("required") or any(key in target for key in ("anyOf", "oneOf", "allOf"))
    return f"input{'' if needed else '?'}: {text}"


def render_type(schema: Any, root: Any = None) -> str:
    """A JSON Schema as a TypeScript type.

    Args:
        schema: The schema.
        root: Where `$ref`s are looked up; the schema itself if left out. A reference to a
            schema that is being rendered becomes `unknown`: types have no names here.
    """
    return str(_Renderer(schema if root is None else root).render(schema, 0))


class _Compound(str):
    """A type that needs parentheses inside another."""

    __slots__ = ()


class _Renderer:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._open: list[str] = []
        self._nodes = 0

    def target(self, schema: Any) -> Mapping[str, Any]:
        """The schema that a schema refers to, or itself; empty if there is none."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
                break
            schema = self._look_up(schema["$ref"])
        return schema if isinstance(schema, Mapping) else {}

    def render(self, schema: Any, depth: int) -> str:
        self._nodes += 1
        if schema is False:
            return "never"
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH or self._nodes > _MAX_NODES:
            return "unknown"
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema["$ref"], depth)
        if "const" in schema:
            return _literal(schema["const"])
        if isinstance(schema.get("enum"), list):
            return _union([_literal(value) for value in schema["enum"]])
        parts = [part for part in self._combined(schema, depth) if part != "unknown"]
        own = self._by_type(schema, depth)
        if not parts:
            return own
        # A type beside the parts adds something only if it names fields of its own.
        return _intersection([own, *parts] if own.startswith("{") else parts)

    def _combined(self, schema: Mapping[str, Any], depth: int) -> list[str]:
        """What `anyOf`, `oneOf` and `allOf` demand; all of it holds at once."""
        parts = [
            _union([self.render(option, depth + 1) for option in schema[key]])
            for key in ("anyOf", "oneOf")
            if isinstance(schema.get(key), list)
        ]
        if isinstance(schema.get("allOf"), list):
            parts += [self.render(option, depth + 1) for option in schema["allOf"]]
        return parts

    def _by_type(self, schema: Mapping[str, Any], depth: int) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            options = [self._by_type({**schema, "type": k}, depth) for k in kind]
            return _union(options)
        if kind == "array" or "prefixItems" in schema:
            return self._array(schema, depth)
        if kind == "object" or "properties" in schema:
            return self._object(schema, depth)
        return _SCALARS.get(kind, "unknown") if isinstance(kind, str) else "unknown"

    def _array(self, schema: Mapping[str, Any], depth: int) -> str:
        fixed, items = schema.get("prefixItems"), schema.get("items", True)
        if isinstance(items, list):  # the form of older drafts
            fixed, items = items, False
        if isinstance(fixed, list) and fixed:
            types = [self.render(item, depth + 1) for item in fixed]
            if isinstance(items, Mapping):
                types.append(f"...{_grouped(self.render(items, depth + 1))}[]")
            return f"[{', '.join(types)}]"
        return f"{_grouped(self.render(items, depth + 1))}[]"

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        properties = schema.get("properties")
        extra = schema.get("additionalProperties")
        if not isinstance(properties, Mapping) or not properties:
            value = self.render(extra, depth + 1) if isinstance(extra, Mapping) else "unknown"
            return f"Record<string, {value}>"
        required = schema.get("required")
        needed = set(map(str, required)) if isinstance(required, list) else set()
        members = [
            self._member(str(key), value, str(key) in needed, depth)
            for key, value in properties.items()
        ]
        if isinstance(extra, Mapping):
            members.append("[key: string]: unknown")  # what covers the named fields, too
        return "{ " + "; ".join(members) + " }"

    def _member(self, key: str, schema: Any, required: bool, depth: int) -> str:
        name = key if _IDENTIFIER.fullmatch(key) else json.dumps(key)
        notes = []
        if isinstance(schema, Mapping):
            notes = [_comment(schema.get("description")), _default(schema.get("default"))]
        comment = " ".join(note for note in notes if note)
        head = f"/* {comment} */ " if comment else ""
        return f"{head}{name}{'' if required else '?'}: {self.render(schema, depth + 1)}"

    def _reference(self, reference: str, depth: int) -> str:
        if reference in self._open:
            return "unknown"
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


def _union(options: list[str]) -> str:
    unique = list(dict.fromkeys(options))
    if "unknown" in unique:
        return "unknown"
    some = [option for option in unique if option != "never"]
    if len(some) < 2:
        return some[0] if some else "never"
    return _Compound(" | ".join(map(str, some)))


def _intersection(parts: list[str]) -> str:
    unique = list(dict.fromkeys(parts))
    return unique[0] if len(unique) == 1 else _Compound(" & ".join(map(_grouped, unique)))


def _grouped(text: str) -> str:
    return f"({text})" if isinstance(text, _Compound) else text


def _literal(value: Any) -> str:
    if value is not None and not isinstance(value, (str, int, float)):
        return "unknown"
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:  # no number of JSON, or one with thousands of digits
        return "unknown"


def _default(value: Any) -> str:
    if value is None:
        return ""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return ""
    return _comment(f"default: {text}") if len(text) <= _DEFAULT_CHARS else ""


def _comment(text: Any) -> str:
    if not isinstance(text, str):
        return ""
    return " ".join(text.split()).replace("*/", "*\\/")
