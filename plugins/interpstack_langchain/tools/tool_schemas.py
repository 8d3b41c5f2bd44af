"""JSON Schemas of LangChain tools: their inputs and outputs."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Generator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langchain_core.utils.pydantic import get_fields, model_json_schema
from langgraph.types import Command
from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

__all__ = ["injected_fields", "input_schema", "output_schema", "visible_fields"]

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

#: Schemas by function and response format: making one takes a millisecond, and tools are often
#: handed to a new agent for each request.
_returned: WeakKeyDictionary[Any, dict[str, Mapping[str, Any] | None]] = WeakKeyDictionary()


def input_schema(tool: BaseTool) -> Mapping[str, Any]:
    """The schema of the fields that callers pass, without injected ones."""
    if _takes_text(tool):
        return {"type": "object", "properties": tool.args, "required": list(tool.args)}
    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        return schema
    try:
        found: dict[str, Any] = model_json_schema(schema)
    except _UNDESCRIBABLE:
        return {"type": "object", "properties": {name: {} for name in visible_fields(tool)}}
    return found


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
    return frozenset(injected) - frozenset(visible_fields(tool))


def visible_fields(tool: BaseTool) -> tuple[str, ...]:
    """Names of the fields that callers may pass."""
    if _takes_text(tool):
        return tuple(tool.args)
    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        injected = _in_signature(tool)
        return tuple(name for name in schema.get("properties", ()) if name not in injected)
    return tuple(get_fields(schema))


def _takes_text(tool: BaseTool) -> bool:
    """Whether it is a tool of the old kind: without a schema, for one text under any name."""
    return isinstance(tool, Tool) and tool.args_schema is None


def _in_signature(tool: BaseTool) -> frozenset[str]:
    """Injected arguments in the signature of the tool's function, according to LangChain."""
    return frozenset(getattr(tool, "_injected_args_keys", ()))
