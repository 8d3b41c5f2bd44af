"""Bridges as tools with schemas, made from the annotations of their functions."""

from __future__ import annotations

import inspect
import typing
from typing import Any, Final

from pydantic import PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from interpstack import Bridge, HostTool
from interpstack_schemas import BYTES

__all__ = ["described_bridge"]

_NOTHING: Final = object()


class _BridgeSchemas(GenerateJsonSchema):
    """Schemas in which bytes are bytes: a bridge takes no text in place of them."""

    def bytes_schema(self, schema: Any) -> dict[str, Any]:
        return {"type": "string", "format": BYTES}


def described_bridge(bridge: Bridge) -> HostTool:
    """A bridge as a tool, for a search: its schemas are those of the function's annotations.

    A parameter whose annotation has no schema takes anything. A raw bridge, and one whose answer
    is not annotated, says nothing of what it takes or returns.
    """
    function = inspect.unwrap(bridge.handler)
    return HostTool(
        name=bridge.name,
        description=inspect.getdoc(function) or "",
        call=bridge.handler,
        input_schema=_input_schema(bridge),
        output_schema=_schema(_returned(function), "returned"),
    )


def _input_schema(bridge: Bridge) -> dict[str, Any]:
    signature = bridge.signature
    if signature is None:
        return {}
    schema: dict[str, Any] = {"type": "object", "properties": {}, "$defs": {}}
    for name, (annotation, _) in signature.parameters.items():
        found = _schema(annotation, name) or {}
        schema["$defs"] |= found.pop("$defs", {})
        schema["properties"][name] = found
    schema["required"] = [name for name, (_, must) in signature.parameters.items() if must]
    schema["additionalProperties"] = signature.more is not None
    return schema


def _returned(function: Any) -> Any:
    try:
        return typing.get_type_hints(function).get("return", _NOTHING)
    except (NameError, TypeError, AttributeError, SyntaxError):  # as a name that is not there
        return _NOTHING


def _schema(annotation: Any, place: str) -> dict[str, Any] | None:
    """The schema of an annotation; `None` if there is none. Its definitions are named by place."""
    if annotation is _NOTHING:
        return None
    mode: Any = "serialization" if place == "returned" else "validation"
    try:
        made = TypeAdapter(annotation).json_schema(
            mode=mode,
            ref_template=f"#/$defs/{place}.{{model}}",
            schema_generator=_BridgeSchemas,
        )
    except (PydanticUserError, NameError, TypeError, ValueError, RecursionError):
        return None
    defs = {f"{place}.{name}": item for name, item in made.pop("$defs", {}).items()}
    return {**made, "$defs": defs} if defs else made
