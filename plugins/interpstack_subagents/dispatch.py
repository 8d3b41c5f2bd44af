"""The bridge `task`: checks what the guest asks for and hands it to the adapter.

`Turn.options` may hold:

| Option | Meaning |
|---|---|
| `dispatch` | `async (Dispatch, CellContext) -> value`; without it there is no `task` |
| `max_subagent_concurrency` | subagents of one cell that run at once, 32 if left out |
| `max_subagent_dispatches` | dispatches one cell may make, no own limit if left out |
| `dispatch_passes` | exceptions that are the host's own, see `Bridge.passes` |
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import attrs

from interpstack import UNDEFINED, Bridge, CellContext, GuestException, Slots
from interpstack_subagents.schema import check_schema

__all__ = ["PROCESS_LIMIT", "Dispatch", "task_bridge"]

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


@attrs.frozen(kw_only=True)
class Dispatch:
    """One subagent that code asks for.

    Attributes:
        description: What it is to do.
        subagent_type: Which kind of subagent.
        label: Short text for progress displays; may be empty.
        response_schema: JSON Schema of its answer, or `None` for text.
    """

    description: str
    subagent_type: str
    label: str = ""
    response_schema: Mapping[str, Any] | None = None


def task_bridge(options: Mapping[str, Any], language: str) -> Bridge | None:
    """The bridge for one turn; `None` when the host has no subagents."""
    python = language == "python"
    dispatch: Callable[[Dispatch, CellContext], Awaitable[Any]] | None = options.get("dispatch")
    if dispatch is None:
        return None

    async def task(value: Any, context: CellContext) -> Any:
        wanted = _read(value, _PYTHON_FIELDS if python else _FIELDS)
        async with _slots.slot():
            return await dispatch(wanted, context)

    return Bridge(
        name="task",
        handler=task,
        owner="interpstack_subagents",
        raw=True,
        concurrency=options.get("max_subagent_concurrency", 32),
        budget=options.get("max_subagent_dispatches"),
        counted=False,
        passes=options.get("dispatch_passes", ()),
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
