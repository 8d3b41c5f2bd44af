"""The metadata of workflow modules, read before any code of them runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import attrs

from interpstack.similar_names import did_you_mean
from interpstack_javascript.cells import TypeScriptError, escape, strip_types
from interpstack_javascript.parser.parsing import Node
from interpstack_workflows.errors import MetadataError
from interpstack_workflows.module.forms import parsed_tree, placed, top_level_script

__all__ = ["PhaseMetadata", "WorkflowMetadata", "read_metadata"]

_TYPED: Final = (".ts", ".mts")
#: Seconds that parsing may take.
_SECONDS: Final = 5.0
_FIELDS: Final = ("name", "description", "whenToUse", "phases", "argsSchema")
_PHASE: Final = "{title, detail?, model?, provider?}, all strings"
#: Bytes of a source.
_MOST_BYTES: Final = 2**20
_PURE: Final = "meta takes a literal: objects, arrays, strings, numbers, true, false and null"
_INVALID: Final = "Workflow script must export valid literal metadata as `export const meta`"


@attrs.frozen(kw_only=True)
class PhaseMetadata:
    """A phase that a workflow announces.

    Attributes:
        title: The name of the phase, as the script passes it to `phase(title)`.
        detail: What happens in it.
        model: The model of its agents, unless a call names another.
        provider: The provider of its agents, unless a call names another.
    """

    title: str
    detail: str | None = None
    model: str | None = None
    provider: str | None = None


@attrs.frozen(kw_only=True)
class WorkflowMetadata:
    """The metadata of a workflow.

    Attributes:
        name: The name by which other workflows call it.
        description: What it does.
        when_to_use: When a model should choose it; `None` if it does not say.
        phases: Its phases, in order.
        args_schema: The JSON Schema of its arguments; `None` if it takes any.
        raw: All that the module exports as `meta`.
        top_level: Whether the body of the script stands at top level, as in scripts for Claude
            Code; `False` for a module with a default export.
    """

    name: str
    description: str
    when_to_use: str | None = None
    phases: tuple[PhaseMetadata, ...] = ()
    args_schema: Mapping[str, Any] | None = None
    raw: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    top_level: bool = False


def read_metadata(source: str, *, name: str) -> WorkflowMetadata:
    """Read the metadata of a workflow module; blocks for some milliseconds.

    Args:
        source: The text of the module.
        name: The name of its file; `.ts` and `.mts` make it TypeScript.

    Raises:
        MetadataError: The module has no metadata, the metadata are not a literal, or a field is
            wrong. The message says what is accepted; the attributes of the error say where the
            fault is.
    """
    if not isinstance(source, str) or len(source.encode("utf-8", "surrogatepass")) > _MOST_BYTES:
        raise MetadataError(f"{name}: a workflow is text of at most {_MOST_BYTES} bytes")
    script = top_level_script(source, name)
    if script is not None:
        source = script.head
    if name.endswith(_TYPED):
        try:
            source = strip_types(source, name, _SECONDS)
        except TypeScriptError as error:
            line, column = (error.place.line, error.place.column) if error.place else (0, 0)
            place = f"{name}:{line}:{column}" if line else name
            fault = f"{place}: the module does not parse: {error.reason}"
            raise MetadataError(fault, line, column) from error
    return attrs.evolve(_read(source, name), top_level=script is not None)


def _read(source: str, name: str) -> WorkflowMetadata:
    """Read the metadata of a module of JavaScript."""
    program, faults, _ = parsed_tree(escape(source), "source.mjs")
    if faults:
        why = ""
        if not parsed_tree(escape(source), "source.mts")[1]:
            why = ". It is TypeScript, which needs a name that ends in .ts: pass the path of a file"
        message = f"the module does not parse: {faults[0].message.removesuffix('.')}{why}"
        raise placed(source, name, faults[0].start, message)
    literal: Node = program
    try:
        literal = _found(program)
        return _metadata(_value(literal))
    except _Fault as error:
        raise placed(source, name, error.offset, f"{_INVALID}: {error}") from error
    except ValueError as error:
        raise placed(source, name, literal["start"], f"{_INVALID}: {error}") from error
    except RecursionError as error:
        deep = f"{_INVALID}: meta is nested too deeply"
        raise placed(source, name, literal["start"], deep) from error


def _metadata(raw: Mapping[str, Any]) -> WorkflowMetadata:
    for name in raw:
        near = did_you_mean(name, _FIELDS, alike=0.7, write=str)
        if near and name not in _FIELDS:  # fields of other tools are none of our business
            raise ValueError(f"there is no field {name}{near}")
    for field in ("name", "description"):
        _expect(isinstance(raw.get(field), str) and raw[field], field, "a string that is not empty")
    when, phases, schema = raw.get("whenToUse"), raw.get("phases", []), raw.get("argsSchema")
    _expect(when is None or isinstance(when, str), "whenToUse", "a string")
    _expect(isinstance(phases, list), "phases", f"an array of {_PHASE}")
    _expect(schema is None or isinstance(schema, dict), "argsSchema", "a JSON Schema, an object")
    return WorkflowMetadata(
        name=raw["name"],
        description=raw["description"],
        when_to_use=when,
        phases=tuple(_phase(each, number) for number, each in enumerate(phases)),
        args_schema=schema,
        raw=raw,
    )


def _phase(data: Any, number: int) -> PhaseMetadata:
    known = {field.name for field in attrs.fields(PhaseMetadata)}
    fits = isinstance(data, dict) and "title" in data and known.issuperset(data)
    _expect(
        fits and all(isinstance(text, str) for text in data.values()), f"phases[{number}]", _PHASE
    )
    return PhaseMetadata(**data)


def _expect(fits: Any, field: str, accepted: str) -> None:
    """Check a field.

    Raises:
        ValueError: It does not fit.
    """
    if not fits:
        raise ValueError(f"{field} takes {accepted}")


# -- the literal ----------------------------------------------------------------------------------


class _Fault(Exception):
    """A module, or a part of it, is not as metadata must be.

    Attributes:
        offset: Where the part begins, in UTF-16 code units; `None` for the whole module.
    """

    def __init__(self, message: str, node: Node | None = None) -> None:
        super().__init__(message)
        self.offset: int | None = None if node is None else node["start"]


def _found(program: Node) -> Node:
    """Return the literal that a module exports as `meta`.

    Raises:
        _Fault: It exports something else by that name, or nothing.
    """
    for statement in program["body"]:
        declared = statement.get("declaration") or {}
        if statement["type"] != "ExportNamedDeclaration" or "declarations" not in declared:
            continue
        for one in declared["declarations"]:
            if one["id"].get("name") != "meta":
                continue
            if declared["kind"] != "const":
                raise _Fault("meta must be exported as a const", statement)
            literal: Node | None = _bare(one["init"])
            if literal is None or literal["type"] != "ObjectExpression":
                raise _Fault("meta must be an object literal", literal or one)
            return literal
    raise _Fault("the module has no `export const meta = {…}`")


def _bare(node: Node | None) -> Node | None:
    while node is not None and node["type"] == "ParenthesizedExpression":
        node = node["expression"]
    return node


def _value(node: Node) -> Any:
    """Return the value of a literal.

    Raises:
        _Fault: A part of it is no literal.
        RecursionError: It is nested too deeply.
    """
    node = _bare(node) or node
    match node["type"]:
        case "Literal":
            return _plain(node)
        case "UnaryExpression" if _is_number(node["argument"]) and node["operator"] in "+-":
            value = _value(node["argument"])
            return -value if node["operator"] == "-" else value
        case "ArrayExpression":
            if None in node["elements"]:
                raise _impure("a hole in an array", node)
            return [_value(each) for each in node["elements"]]
        case "ObjectExpression":
            return dict(_item(each) for each in node["properties"])
        case "SpreadElement":
            raise _impure("a spread", node)
        case "TemplateLiteral":
            raise _impure("a template", node)
        case "Identifier":
            raise _impure(f"the name {node['name'][:60]}", node)
    raise _impure("an expression", node)


def _plain(node: Node) -> Any:
    if "regex" in node:
        raise _impure("a regular expression", node)
    if "bigint" in node:
        raise _impure("a BigInt", node)
    if node["value"] == math.inf:
        raise _impure("a number that is too large", node)
    return node["value"]


def _is_number(node: Node) -> bool:
    value = (_bare(node) or node).get("value")
    return isinstance(value, int | float) and not isinstance(value, bool)


def _item(node: Node) -> tuple[str, Any]:
    """Return a field of an object literal."""
    if node["type"] == "SpreadElement":
        raise _impure("a spread", node)
    key = node["key"]
    if node["computed"]:
        raise _impure("a computed key", key)
    if node["shorthand"] or node["method"] or node["kind"] != "init":
        raise _impure("a method or a shorthand", node)
    if key["type"] == "Identifier":
        return key["name"], _value(node["value"])
    if not isinstance(key["value"], str | int):
        raise _impure("a key that is neither a name, text nor a whole number", key)
    return str(key["value"]), _value(node["value"])


def _impure(what: str, node: Node) -> _Fault:
    return _Fault(f"{_PURE}; {what} is none", node)
