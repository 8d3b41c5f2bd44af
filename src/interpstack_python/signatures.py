"""Signatures of tools as Python, from their JSON Schemas.

Objects become `TypedDict` classes in front of the function that takes or gives them. Text from
a schema can close neither a string nor a comment.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from interpstack import HostTool
from interpstack_schemas import SchemaWalk, needed, one_line

__all__ = ["describe_fields", "describe_tool"]

#: Classes in front of one function; objects beyond them are dictionaries of anything.
_MAX_CLASSES: Final = 12
_DEFAULT_CHARS: Final = 60
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_WORD: Final = re.compile(r"[A-Za-z0-9]+", re.ASCII)


def describe_tool(name: str, tool: HostTool) -> str:
    """A tool as a documented function, as in `async def web_search(*, query: str) -> list[str]`.

    Each declaration is also valid as a stub: the body is a docstring or `...`. A learned type has a
    comment behind it that says so.
    """
    returned = tool.output_schema if tool.learned is None else tool.learned.schema
    takes = _PythonSignatures(tool.input_schema, _title(name))
    parameters, notes = _parameters(takes, takes.target(tool.input_schema))
    gives = _PythonSignatures(returned, _title(name) + "Answer", gives=True)
    answer = "Any" if returned is None else gives.render(returned, 0)
    head = f"async def {name}({parameters}) -> {answer}:"
    note = tool.learned.note if tool.learned is not None else ""
    note = f"  # {note}" if note else ""
    text = _docstring(tool.description, notes)
    function = f"{head}{note}\n    {text}" if text else f"{head} ...{note}"
    return "\n".join([*takes.classes, *gives.classes, function])


def describe_fields(tool: HostTool) -> str:
    """The fields of a tool with their types, for messages, as in `q: str, limit: int = 3`."""
    types = _PythonSignatures(tool.input_schema, "Input")
    made, _ = _parameters(types, types.target(tool.input_schema))
    return made.removeprefix("*, ")


def _parameters(types: _PythonSignatures, schema: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The parameters, and a note on each that has a description."""
    properties = schema.get("properties")
    fields = properties if isinstance(properties, Mapping) else {}
    must = needed(schema)
    made, notes, rest = [], [], bool(schema.get("additionalProperties"))
    for key, field in fields.items():
        if not _speakable(str(key)):
            rest = True
            continue
        made.append(_parameter(types, str(key), field, str(key) in must))
        note = one_line(field.get("description")) if isinstance(field, Mapping) else ""
        if note:
            notes.append(f"{key}: {note}")
    if any(part in schema for part in ("anyOf", "oneOf", "allOf")):
        rest = True
    ends = ["**fields: Any"] if rest else []
    return ", ".join([*(["*"] if made else []), *made, *ends]), notes


def _parameter(types: _PythonSignatures, key: str, schema: Any, required: bool) -> str:
    kind = types.named(key, schema)
    if required:
        return f"{key}: {kind}"
    given = schema.get("default") if isinstance(schema, Mapping) else None
    return f"{key}: {kind} = {_default(given)}"


class _PythonSignatures(SchemaWalk):
    binary = "bytes"
    anything = "Any"
    nothing = "Never"
    scalars: ClassVar[Mapping[str, str]] = {
        "string": "str",
        "number": "float",
        "integer": "int",
        "boolean": "bool",
        "null": "None",
    }

    def __init__(self, root: Any, title: str, gives: bool = False) -> None:
        super().__init__(root, gives)
        self.classes: list[str] = []
        self._path = [title]
        self._taken: set[str] = set()
        #: Literal types made so far, and their values: types like `Literal[1] | None` are not one.
        self._literals: dict[str, list[str]] = {}

    def named(self, key: str, schema: Any) -> str:
        """The type of one field."""
        self._path.append(_title(key))
        try:
            return self.render(schema, len(self._path))
        finally:
            self._path.pop()

    def literal(self, value: Any) -> str:
        if value is None:
            return "None"
        if not isinstance(value, (str, int)):  # Python has no literal types of floats
            return self.scalars["number"] if isinstance(value, float) else self.anything
        text = _literal(value)
        return self._one_of([text]) if text else self.anything

    def union(self, options: list[str]) -> str:
        known = [self._literals[part] for part in options if part in self._literals]
        if len(known) < 2:
            return super().union(options)
        others = [part for part in options if part not in self._literals]
        return super().union([self._one_of([value for each in known for value in each]), *others])

    def _one_of(self, values: list[str]) -> str:
        unique = list(dict.fromkeys(values))
        made = f"Literal[{', '.join(unique)}]"
        self._literals[made] = unique
        return made

    def array(self, items: Any, fixed: list[Any] | None, depth: int) -> str:
        if fixed is None:
            return f"list[{self.render(items, depth + 1)}]"
        types = [self.render(item, depth + 1) for item in fixed]
        if isinstance(items, Mapping):
            types.append(self.render(items, depth + 1))
        return f"list[{self.union(types)}]"  # JSON has no tuples

    def mapping(self, value: str) -> str:
        return f"dict[str, {value}]"

    def intersection(self, parts: list[str]) -> str:
        unique = list(dict.fromkeys(parts))
        return unique[0] if len(unique) == 1 else self.anything

    def fields(self, schema: Mapping[str, Any], depth: int) -> str:
        if len(self._taken) >= _MAX_CLASSES:
            return self.mapping(self.anything)
        properties, must = schema["properties"], needed(schema)
        if not all(_speakable(str(key)) for key in properties):
            return self.mapping(self.anything)
        title = self._free("".join(self._path))
        members = [
            self._member(str(key), value, str(key) in must) for key, value in properties.items()
        ]
        self.classes.append("\n".join([f"class {title}(TypedDict):", *members]))
        return title

    def _free(self, title: str) -> str:
        made = next(
            t for n in range(len(self._taken) + 1) if (t := f"{title}{n or ''}") not in self._taken
        )
        self._taken.add(made)
        return made

    def _member(self, key: str, schema: Any, required: bool) -> str:
        kind = self.named(key, schema)
        note = one_line(schema.get("description")) if isinstance(schema, Mapping) else ""
        comment = f"  # {_printable(note)}" if note else ""
        return f"    {key}: {kind if required else f'NotRequired[{kind}]'}{comment}"


def _title(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in _WORD.findall(name)) or "Value"


def _speakable(name: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(name)) and not keyword.iskeyword(name)


def _literal(value: Any) -> str:
    try:
        return ascii(value)
    except ValueError:  # a number with thousands of digits
        return ""


def _default(value: Any) -> str:
    plain = isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
    text = _literal(value) if plain else ""
    return text if text and len(text) <= _DEFAULT_CHARS else "..."


def _docstring(description: str, notes: list[str]) -> str:
    """Description and notes as a docstring, indented for a function's body."""
    lines = [one_line(description), *notes]
    text = "\n    ".join(_printable(line) for line in lines if line)
    end = "\n    " if notes else ""
    return f'"""{text}{end}"""' if text else ""


def _printable(text: str) -> str:
    """Text that ends no string and starts no escape."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown.replace("\\", "\\\\").replace('"', "'")
