"""The bridge `task`, which checks the guest's input and passes it to the adapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from interpstack import (
    UNDEFINED,
    Bridge,
    CellContext,
    GuestException,
    GuestLanguage,
    HostTool,
    Slots,
)
from interpstack_subagents.api import Dispatch, Subagents
from interpstack_subagents.schema import check_schema

__all__ = ["FIELDS", "PROCESS_LIMIT", "task_bridge"]

#: Subagents dispatched from code that may run at once in this process.
PROCESS_LIMIT: Final = 128
_slots = Slots(PROCESS_LIMIT)

#: The fields of `Dispatch`, and whether code must name them; a language spells the names.
FIELDS: Final = MappingProxyType(
    {"description": True, "subagent_type": True, "label": False, "response_schema": False}
)
_TEXT: Final = {"type": "string"}
_SCHEMAS: Final[Mapping[str, Any]] = {
    "description": _TEXT,
    "subagent_type": _TEXT,
    "label": {"anyOf": [_TEXT, {"type": "null"}]},
    "response_schema": {"anyOf": [{"type": "object"}, {"type": "null"}]},
}


def task_bridge(offered: Subagents, language: GuestLanguage) -> Bridge:
    """The bridge that dispatches subagents, in the form of the guest's language."""
    fields = tuple(map(language.identifier, FIELDS))
    example = language.call("task", dict.fromkeys(fields[:2], '"…"'))
    misuse = f"takes {language.words.arguments}, as in {example}"

    async def task(value: Any, context: CellContext) -> Any:
        wanted = _read(value, fields, misuse)
        async with _slots.slot():
            return await offered.dispatch(wanted, context)

    return Bridge(
        name="task",
        handler=task,
        owner="interpstack_subagents",
        raw=True,
        concurrency=offered.concurrency,
        budget=offered.budget,
        counted=False,
        passes=offered.passes,
        dispatches=True,
        declaration=_declaration(language, fields) if language.declares else "",
    )


def _declaration(language: GuestLanguage, fields: Sequence[str]) -> str:
    """The signature of `task`, as that of a tool with the same fields."""

    async def never(value: Any, context: CellContext) -> Any:
        raise NotImplementedError("only the signature of this tool is used")

    schema = {
        "properties": dict(zip(fields, _SCHEMAS.values(), strict=True)),
        "required": [name for name, must in zip(fields, FIELDS.values(), strict=True) if must],
    }
    return language.signature("task", HostTool(name="task", call=never, input_schema=schema))


def _read(value: Any, fields: Sequence[str], misuse: str) -> Dispatch:
    description, subagent_type, label, response_schema = fields
    if not isinstance(value, dict):
        raise _refused(misuse)
    given = {key: item for key, item in value.items() if item is not UNDEFINED and item is not None}
    unknown = next((key for key in given if key not in fields), None)
    if unknown is not None:
        raise _refused(f"has no field {str(unknown)[:100]!r}; it takes {', '.join(fields)}")
    for field in (description, subagent_type):
        if not isinstance(given.get(field), str) or not given[field].strip():
            raise _refused(f"needs {field!r}, a non-empty string")
    if not isinstance(given.get(label, ""), str):
        raise _refused(f"takes a string as {label!r}")
    schema = given.get(response_schema)
    return Dispatch(
        description=given[description],
        subagent_type=given[subagent_type],
        label=given.get(label, ""),
        response_schema=None if schema is None else check_schema(schema, response_schema),
    )


def _refused(message: str) -> GuestException:
    return GuestException(f"task() {message}", name="TypeError")
