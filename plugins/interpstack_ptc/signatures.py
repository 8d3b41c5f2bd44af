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

from interpstack import HostTool

__all__ = ["describe_tool", "render_type"]

_MAX_DEPTH: Final = 12
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
    schema = tool.input_schema
    given = render_type(schema, schema) if schema.get("properties") else ""
    optional = "" if schema.get("required") else "?"
    answer = "unknown" if tool.output_schema is None else render_type(tool.output_schema)
    signature = f"{name}({f'input{optional}: {given}' if given else ''}): Promise<{answer}>"
    description = _comment(tool.description)
    return f"/** {description} */\n{signature}" if description else signature


def render_type(schema: Any, root: Any = None) -> str:
    """A JSON Schema as a TypeScript type.

    Args:
        schema: The schema.
        root: Where `$ref`s are looked up; the schema itself if left out. A reference to a
            schema that is being rendered becomes `unknown`: types have no names here.
    """
    return _Renderer(schema if root is None else root).render(schema, 0)


class _Renderer:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._open: list[str] = []

    def render(self, schema: Any, depth: int) -> str:
        if schema is False:
            return "never"
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return "unknown"
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema["$ref"], depth)
        if "const" in schema:
            return _literal(schema["const"])
        if isinstance(schema.get("enum"), list):
            return _union([_literal(value) for value in schema["enum"]])
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list):
                return _union([self.render(option, depth + 1) for option in schema[key]])
        if isinstance(schema.get("allOf"), list):
            parts = [self.render(option, depth + 1) for option in schema["allOf"]]
            return (
                " & ".join(f"({p})" if " | " in p else p for p in dict.fromkeys(parts)) or "unknown"
            )
        return self._by_type(schema, depth)

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
        fixed = schema.get("prefixItems")
        if isinstance(fixed, list):
            return "[" + ", ".join(self.render(item, depth + 1) for item in fixed) + "]"
        item = self.render(schema.get("items", True), depth + 1)
        return f"({item})[]" if re.search(r" [|&] ", item) else f"{item}[]"

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
        return "{ " + "; ".join(members) + " }"

    def _member(self, key: str, schema: Any, required: bool, depth: int) -> str:
        name = key if _IDENTIFIER.fullmatch(key) else json.dumps(key)
        notes = []
        if isinstance(schema, Mapping):
            notes = [_comment(schema.get("description"))]
            if "default" in schema and schema["default"] is not None:
                notes.append(_comment(f"default: {_literal(schema['default'])}"))
        comment = " ".join(note for note in notes if note)
        head = f"/* {comment} */ " if comment else ""
        return f"{head}{name}{'' if required else '?'}: {self.render(schema, depth + 1)}"

    def _reference(self, reference: str, depth: int) -> str:
        if reference in self._open or not reference.startswith("#"):
            return "unknown"
        target = self._root
        for part in reference.removeprefix("#").strip("/").split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            if part and isinstance(target, Mapping):
                target = target.get(key)
        self._open.append(reference)
        try:
            return self.render(target, depth + 1)
        finally:
            self._open.pop()


def _union(options: list[str]) -> str:
    unique = list(dict.fromkeys(options))
    if "unknown" in unique or not unique:
        return "unknown"
    return " | ".join(unique)


def _literal(value: Any) -> str:
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)) and value == value and abs(value) != float("inf"):
        return json.dumps(value)
    return "unknown"


def _comment(text: Any) -> str:
    if not isinstance(text, str):
        return ""
    return " ".join(text.split()).replace("*/", "*\\/")
