"""JSON Schemas of LangChain tools: what guests may pass, and what they get."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command
from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

__all__ = ["injected_fields", "input_schema", "output_schema", "visible_fields"]


def input_schema(tool: BaseTool) -> Mapping[str, Any]:
    """Schema of the fields that callers pass; injected ones are left out."""
    schema: Any = tool.tool_call_schema
    if isinstance(schema, dict):
        return schema
    try:
        found: dict[str, Any] = schema.model_json_schema()
    except (PydanticUserError, PydanticSchemaGenerationError):
        return {"type": "object", "properties": {name: {} for name in tool.args}}
    return found


def output_schema(tool: BaseTool) -> Mapping[str, Any] | None:
    """Schema of the return annotation; `None` if there is none that says anything."""
    function = getattr(tool, "coroutine", None) or getattr(tool, "func", None)
    if function is None or not isinstance(tool, StructuredTool):
        return None
    try:
        annotation = typing.get_type_hints(inspect.unwrap(function)).get("return")
        if annotation in (None, Any, Command, ToolMessage):
            return None
        return TypeAdapter(annotation).json_schema(mode="serialization")
    except (PydanticUserError, PydanticSchemaGenerationError, NameError, TypeError):
        return None


def injected_fields(tool: BaseTool) -> frozenset[str]:
    """Names of the arguments that only the host may fill in."""
    schema: Any = tool.get_input_schema()
    return frozenset(schema.model_fields) - frozenset(visible_fields(tool))


def visible_fields(tool: BaseTool) -> tuple[str, ...]:
    """Names of the fields that callers may pass."""
    schema: Any = tool.tool_call_schema
    if isinstance(schema, dict):
        return tuple(schema.get("properties", ()))
    return tuple(schema.model_fields)
