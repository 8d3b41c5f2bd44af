"""Signatures of tools as TypeScript, from their JSON Schemas.

Text from a schema can close neither a comment nor a string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from interpstack import HostTool
from interpstack_schemas import Compound, SchemaWalk, needed, one_line

__all__ = ["describe_fields", "describe_tool", "render_type"]

_DEFAULT_CHARS: Final = 60
#: Fields that a message lists, and characters of the type of each.
_FIELDS: Final = 30
_TYPE_CHARS: Final = 100
_IDENTIFIER: Final = r"[A-Za-z_$][A-Za-z0-9_$]*"


def describe_tool(name: str, tool: HostTool) -> str:
    """A tool as a documented method signature, as in `webSearch(input: {…}): Promise<string>`.

    A learned type has a comment behind it that says so.
    """
    returned = tool.output_schema if tool.learned is None else tool.learned.schema
    gives = _TypeScript(returned, gives=True)
    answer = "unknown" if returned is None else str(gives.render(returned, 0))
    signature = f"{name}({_parameter(tool.input_schema)}): Promise<{answer}>"
    if tool.learned is not None and tool.learned.note:
        signature += f" // {tool.learned.note}"
    description = _comment(tool.description)
    return f"/** {description} */\n{signature}" if description else signature


def describe_fields(tool: HostTool) -> str:
    """The fields of a tool with their types, for messages, as in `q: string, limit?: number`."""
    types = _TypeScript(tool.input_schema)
    target = types.target(tool.input_schema)
    fields, must = target.get("properties"), needed(target)
    if not isinstance(fields, Mapping):
        return ""
    made = []
    for key, schema in list(fields.items())[:_FIELDS]:
        kind = str(types.render(schema, 1))
        kind = kind if len(kind) <= _TYPE_CHARS else types.anything
        made.append(f"{_key(str(key))}{'' if str(key) in must else '?'}: {kind}")
    return ", ".join([*made, *(["…"] if len(fields) > _FIELDS else [])])


def _key(key: str) -> str:
    return key if re.fullmatch(_IDENTIFIER, key) else json.dumps(key)


def _parameter(schema: Mapping[str, Any]) -> str:
    types = _TypeScript(schema)
    text = types.render(schema, 0)
    target = types.target(schema)
    takes_anything = bool(target.get("additionalProperties"))
    if text == "unknown" or (text == "Record<string, unknown>" and not takes_anything):
        return ""
    must = target.get("required") or any(key in target for key in ("anyOf", "oneOf", "allOf"))
    return f"input{'' if must else '?'}: {text}"


def render_type(schema: Any, root: Any = None) -> str:
    """A JSON Schema as a TypeScript type.

    Args:
        schema: The schema.
        root: The schema in which `$ref`s are looked up; by default the schema itself. A reference
            to a schema that is being rendered becomes `unknown`: types have no names here.
    """
    return str(_TypeScript(schema if root is None else root).render(schema, 0))


class _TypeScript(SchemaWalk):
    binary = "Uint8Array"
    anything = "unknown"
    nothing = "never"
    scalars: ClassVar[Mapping[str, str]] = {
        "string": "string",
        "number": "number",
        "integer": "number",
        "boolean": "boolean",
        "null": "null",
    }

    def literal(self, value: Any) -> str:
        if value is not None and not isinstance(value, (str, int, float)):
            return self.anything
        try:
            return json.dumps(value, allow_nan=False)
        except ValueError:  # no number of JSON, or one with thousands of digits
            return self.anything

    def array(self, items: Any, fixed: list[Any] | None, depth: int) -> str:
        if fixed is None:
            return f"{_grouped(self.render(items, depth + 1))}[]"
        types = [self.render(item, depth + 1) for item in fixed]
        if isinstance(items, Mapping):
            types.append(f"...{_grouped(self.render(items, depth + 1))}[]")
        return f"[{', '.join(types)}]"

    def mapping(self, value: str) -> str:
        return f"Record<string, {value}>"

    def fields(self, schema: Mapping[str, Any], depth: int) -> str:
        must = needed(schema)
        members = [
            self._member(str(key), value, str(key) in must, depth)
            for key, value in schema["properties"].items()
        ]
        if isinstance(schema.get("additionalProperties"), Mapping):
            members.append("[key: string]: unknown")  # an index type must fit the named fields, too
        return "{ " + "; ".join(members) + " }"

    def intersection(self, parts: list[str]) -> str:
        unique = list(dict.fromkeys(parts))
        return unique[0] if len(unique) == 1 else Compound(" & ".join(map(_grouped, unique)))

    def _member(self, key: str, schema: Any, required: bool, depth: int) -> str:
        name = _key(key)
        notes = []
        if isinstance(schema, Mapping):
            notes = [_comment(schema.get("description")), _default(schema.get("default"))]
        comment = " ".join(note for note in notes if note)
        head = f"/* {comment} */ " if comment else ""
        return f"{head}{name}{'' if required else '?'}: {self.render(schema, depth + 1)}"


def _grouped(text: str) -> str:
    return f"({text})" if isinstance(text, Compound) else text


def _default(value: Any) -> str:
    if value is None:
        return ""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return ""
    return _comment(f"default: {text}") if len(text) <= _DEFAULT_CHARS else ""


def _comment(text: Any) -> str:
    return one_line(text).replace("*/", "*\\/")
