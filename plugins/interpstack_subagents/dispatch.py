"""The bridge `task`: checks what the guest asks for and passes it to the adapter."""

from __future__ import annotations

from typing import Any, Final

from interpstack import UNDEFINED, Bridge, CellContext, GuestException, Slots
from interpstack_subagents.api import Dispatch, Subagents
from interpstack_subagents.schema import check_schema

__all__ = ["PROCESS_LIMIT", "task_bridge"]

#: Subagents dispatched from code that may run at once in this process.
PROCESS_LIMIT: Final = 128
_slots = Slots(PROCESS_LIMIT)

#: Names of the fields in each language, in the order of `Dispatch`.
_FIELDS: Final = ("description", "subagentType", "label", "responseSchema")
_PYTHON_FIELDS: Final = ("description", "subagent_type", "label", "response_schema")
_EXAMPLE: Final = 'takes one object, as in task({description: "…", subagentType: "…"})'
_PYTHON_EXAMPLE: Final = 'takes arguments by name, as in task(description="…", subagent_type="…")'
_DECLARATION: Final = (
    "async def task(*, description: str, subagent_type: str, label: str | None = None, "
    "response_schema: dict[str, Any] | None = None) -> Any: ..."
)


def task_bridge(offered: Subagents, language: str) -> Bridge:
    """The bridge that dispatches subagents, in the form of the guest's language."""
    python = language == "python"

    async def task(value: Any, context: CellContext) -> Any:
        wanted = _read(value, _PYTHON_FIELDS if python else _FIELDS)
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
        declaration=_DECLARATION if python else "",
    )


def _read(value: Any, fields: tuple[str, str, str, str]) -> Dispatch:
    description, subagent_type, label, response_schema = fields
    if not isinstance(value, dict):
        raise _refused(_EXAMPLE if fields is _FIELDS else _PYTHON_EXAMPLE)
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
