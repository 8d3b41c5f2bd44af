"""JSON Schemas of LangChain tools: their inputs and outputs."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Collection, Generator, Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langchain_core.utils.pydantic import get_fields, model_json_schema
from langgraph.types import Command
from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from interpstack.values import dropped
from interpstack_agents import unknown_field

__all__ = [
    "injected_fields",
    "input_schema",
    "lost_key",
    "may_take",
    "misfit",
    "output_schema",
    "visible_fields",
    "wrong_input",
]

#: Errors for annotations that have no schema or use unknown names.
_UNDESCRIBABLE = (
    PydanticUserError,
    PydanticSchemaGenerationError,
    AttributeError,
    NameError,
    RecursionError,
    SyntaxError,
    TypeError,
)

#: Fields that a message lists, and characters of a value in it.
_SHOWN: Final = 30
_SHOWN_CHARS: Final = 60
#: Python's types for the values of a type of JSON Schema.
_JSON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}

#: Schemas by function and response format: making one takes a millisecond, and tools are often
#: handed to a new agent for each request.
_returned: WeakKeyDictionary[Any, dict[str, Mapping[str, Any] | None]] = WeakKeyDictionary()


def input_schema(tool: BaseTool) -> Mapping[str, Any]:
    """The schema of the fields that callers pass, without injected ones."""
    if _takes_text(tool):
        # LangChain takes the one text under any name
        others = {"patternProperties": {"": {"type": "string"}}}
        return {"type": "object", "properties": tool.args, "required": list(tool.args), **others}
    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        return schema
    try:
        found: dict[str, Any] = model_json_schema(schema)
    except _UNDESCRIBABLE:
        return {"type": "object", "properties": {name: {} for name in visible_fields(tool)}}
    aliases = _aliases(tool)
    if not aliases:
        return found
    properties = {aliases.get(key, key): about for key, about in _properties(found).items()}
    required = [aliases.get(key, key) for key in found.get("required", ())]
    return {**found, "properties": properties, "required": required}


def _aliases(tool: BaseTool) -> dict[str, str]:
    """The names that the model of a tool's input takes, by the names of its fields.

    LangChain describes the fields by their own names, under which such a model does not take them.
    """
    config: Any = getattr(tool.args_schema, "model_config", None)
    if config is None or config.get("populate_by_name") or config.get("validate_by_name"):
        return {}
    made: dict[str, str] = {}
    for name, field in get_fields(typing.cast("type[BaseModel]", tool.args_schema)).items():
        alias: Any = getattr(field, "validation_alias", None)
        texts = [one for one in getattr(alias, "choices", (alias,)) if isinstance(one, str)]
        if texts and name not in texts:
            made[name] = texts[0]
    return made


def misfit(tool: BaseTool, args: Mapping[Any, Any], later: Collection[str] = ()) -> str:
    """Reason for which a tool would refuse its arguments; empty if it would take them.

    Of a tool whose input is described in JSON Schema alone, names and plain types are checked.

    Args:
        tool: The tool.
        args: The arguments.
        later: Names of those whose values are not known yet; these may be right.
    """
    fields, injected = visible_fields(tool), injected_fields(tool)
    forged = [name for name in args if name in injected]
    if forged:
        return f"it has no field {forged[0]!r}; its fields are: {', '.join(fields) or 'none'}"
    if _takes_text(tool):
        return "" if len(args) == 1 else f"it takes one text; got {len(args)} values"
    if unknown := unknown_field(input_schema(tool), args):  # a tool would drop it without a word
        return f"it {unknown}"
    schema: Any = tool.tool_call_schema
    if isinstance(schema, dict):
        return _misfit_in_json(schema, args)
    try:
        (getattr(schema, "model_validate", None) or schema.parse_obj)(_by_name(tool, args))
    except (ValueError, TypeError) as error:  # the errors of both generations of pydantic
        spared = {"input", *later, *_by_name(tool, dict.fromkeys(later))} if later else ()
        return "; ".join(text for field, text in _wrongs(error) if field not in spared)
    return ""


def may_take(tool: BaseTool, args: Mapping[Any, Any], later: Collection[str]) -> bool:
    """Whether a tool's own validation may take these arguments, with those that the host fills in.

    Validators of the whole input are asked, too, which the schema for models leaves out.

    Args:
        tool: The tool.
        args: The arguments, with any value for those that are not known yet.
        later: See `misfit`.
    """
    if tool.args_schema is None:
        return True  # LangChain passes the arguments on as they are
    if not isinstance(tool.args_schema, type):
        return not misfit(tool, args, later)
    schema: Any = tool.args_schema
    filled = injected_fields(tool)
    spared = {*filled, *later, *(("input",) if filled or later else ())}
    try:
        (getattr(schema, "model_validate", None) or schema.parse_obj)(dict(args))
    except (ValueError, TypeError) as error:
        return all(field in spared for field, _ in _wrongs(error))
    except Exception:  # noqa: BLE001 - a validator may raise any exception, for the call to tell
        return True
    return True


def _by_name(tool: BaseTool, args: Mapping[Any, Any]) -> dict[Any, Any]:
    """The arguments under the names that the model of `tool_call_schema` has for its fields."""
    own = {alias: name for name, alias in _aliases(tool).items()}
    return {own.get(name, name): value for name, value in args.items()}


def lost_key(tool: BaseTool, args: Mapping[Any, Any]) -> str:
    """A key of the arguments whose value a tool would lose without a word; empty if there is none.

    Its input may have a dictionary with keys that are no text, which pydantic reads from text: of
    `{"1": …, "01": …}`, only the last value would reach the tool.

    Args:
        tool: A tool with `has_read_keys`.
        args: The arguments, under the names that callers use.
    """
    schema: Any = tool.tool_call_schema
    given = _by_name(tool, args)
    try:
        made = schema.model_validate(given)
    except (ValueError, TypeError):
        return ""  # the tool says so itself
    return dropped(given, made, "", only_keys=True) or ""


def wrong_input(tool: BaseTool, args: Mapping[Any, Any], later: Collection[str] = ()) -> str:
    """Why a tool refuses its arguments: the fields, what was given, and which fields there are.

    Args:
        tool: The tool.
        args: The arguments.
        later: See `misfit`.

    Returns:
        As in `q: Input should be a valid string; given: q is 5; its fields are: q: string`; empty
        if they would be taken.
    """
    wrong = misfit(tool, args, later)
    if not wrong or "its fields are" in wrong:
        return wrong
    got = [f"{name} is {_json(args[name])}" for name in args if _names(wrong, str(name))]
    given = f"; given: {', '.join(got)}" if got else ""
    schema = input_schema(tool)
    required = schema.get("required")
    must = required if isinstance(required, Sequence) else ()
    fields = [
        f"{name}{'' if name in must else '?'}{_type(about)}"
        for name, about in list(_properties(schema).items())[:_SHOWN]
    ]
    return f"{wrong}{given}; its fields are: {', '.join(fields) or 'none'}"


def _names(wrong: str, name: str) -> bool:
    """Whether parts of a misfit begin with a field."""
    return any(part.startswith((f"{name}:", f"{name}.")) for part in wrong.split("; "))


def _type(about: Any) -> str:
    kind = about.get("type") if isinstance(about, Mapping) else None
    return f": {kind}" if isinstance(kind, str) else ""


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=lambda item: type(item).__name__)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"


def _wrongs(error: Exception) -> list[tuple[str, str]]:
    """The parts of a validation error: the argument of each, and the words."""
    errors: Any = getattr(error, "errors", None)
    if not callable(errors):
        return [("input", str(error))]
    return [
        (
            str((*one["loc"], "input")[0]),
            f"{'.'.join(map(str, one['loc'])) or 'input'}: {one['msg']}",
        )
        for one in errors()
    ]


def _misfit_in_json(schema: Mapping[str, Any], args: Mapping[Any, Any]) -> str:
    properties, required = _properties(schema), schema.get("required")
    for name in required if isinstance(required, Sequence) else ():
        if isinstance(name, str) and name not in args:
            return f"{name}: Field required"
    for name, value in args.items():
        about = properties.get(name)
        kind = about.get("type") if isinstance(about, Mapping) else None
        kinds = _JSON_TYPES.get(kind) if isinstance(kind, str) else None
        if kinds and type(value) not in kinds:
            return f"{name}: Input should be of type {kind}; got {value!r:.100}"
    return ""


def output_schema(tool: BaseTool) -> Mapping[str, Any] | None:
    """Schema of the return annotation; `None` if there is none that says anything."""
    function = getattr(tool, "coroutine", None) or getattr(tool, "func", None)
    if function is None or not isinstance(tool, StructuredTool):
        return None
    try:
        known = _returned.setdefault(function, {})
    except TypeError:  # it has no identity to cache by, so its schema is computed each time
        known = {}
    if tool.response_format not in known:
        known[tool.response_format] = _returned_schema(function, tool.response_format)
    return known[tool.response_format]


def _returned_schema(function: Any, response_format: str) -> Mapping[str, Any] | None:
    try:
        annotation = typing.get_type_hints(inspect.unwrap(function)).get("return")
        if response_format == "content_and_artifact":
            annotation = (typing.get_args(annotation) or (None,))[0]
        parts = (annotation, *typing.get_args(annotation))
        if annotation in (None, Any) or any(_is_reply(part) for part in parts):
            return None
        return TypeAdapter(annotation).json_schema(by_alias=False, mode="serialization")
    except _UNDESCRIBABLE:
        return None


def _is_reply(annotation: Any) -> bool:
    """Whether its schema differs from the values that code gets, or is far too large."""
    kind = typing.get_origin(annotation) or annotation
    return isinstance(kind, type) and issubclass(kind, (BaseMessage, Command, Generator))


def injected_fields(tool: BaseTool) -> frozenset[str]:
    """Names of the arguments that only the host may fill in."""
    # Some are in the schema, some only in the signature of the function.
    injected = set(_in_signature(tool))
    if not isinstance(tool.args_schema, dict):
        injected |= set(get_fields(tool.get_input_schema()))
    own = visible_fields(tool, by_alias=False)
    return frozenset(injected).difference(own, visible_fields(tool))


def visible_fields(tool: BaseTool, *, by_alias: bool = True) -> tuple[str, ...]:
    """Names of the fields that callers may pass.

    Args:
        tool: The tool.
        by_alias: Whether they are the names that callers use; otherwise, those of the model.
    """
    if _takes_text(tool):
        return tuple(tool.args)
    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        injected = _in_signature(tool)
        return tuple(name for name in _properties(schema) if name not in injected)
    aliases = _aliases(tool) if by_alias else {}
    return tuple(aliases.get(name, name) for name in get_fields(schema))


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields that a schema describes; none if the text is not a JSON Schema."""
    given = schema.get("properties")
    if not isinstance(given, Mapping):
        return {}
    return {name: about for name, about in given.items() if isinstance(name, str)}


def _takes_text(tool: BaseTool) -> bool:
    """Whether it is a tool of the old kind: without a schema, for one text under any name."""
    return isinstance(tool, Tool) and tool.args_schema is None


def _in_signature(tool: BaseTool) -> frozenset[str]:
    """Injected arguments in the signature of the tool's function, according to LangChain."""
    return frozenset(getattr(tool, "_injected_args_keys", ()))
