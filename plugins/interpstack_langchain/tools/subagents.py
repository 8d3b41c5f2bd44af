"""Subagents, dispatched from code through the agent's own `task` tool."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from langchain_core.tools import BaseTool

from interpstack import CellContext, GuestException
from interpstack_langchain.evals.eval_call import EvalCall
from interpstack_langchain.events import SUBAGENT_STREAM_EVENT_TYPE
from interpstack_langchain.langgraph_internals.async_only import only_async, subagents_of
from interpstack_langchain.tools.native_calls import noting
from interpstack_langchain.tools.tool_calls import run_tool
from interpstack_langchain.tools.tool_schemas import visible_fields
from interpstack_langchain.tools.tool_twins import native_tool, without_blocking_form
from interpstack_subagents.api import Dispatch

__all__ = ["dispatcher"]

_DESCRIPTION_CHARS: Final = 200
_LABEL_CHARS: Final = 120
#: Of the description, where it stands for a missing label.
_SHORT_CHARS: Final = 60
_ERROR_CHARS: Final = 500
#: Fields of a `task` tool that dispatches subagents; another tool of that name has others.
_FIELDS: Final = frozenset({"description", "subagent_type"})


def dispatcher(task: BaseTool) -> Callable[[Dispatch, CellContext], Awaitable[Any]] | None:
    """A function that runs subagents through the agent's `task` tool.

    The answer is the subagent's last message, or, with a response schema, the parsed object. Start
    and end are reported on the graph's custom stream; the id of a dispatch is the same when its
    eval is replayed.

    Returns:
        `None` for a tool that only has the same name.
    """
    if not set(visible_fields(task)) >= _FIELDS:
        return None
    subagents = subagents_of(task)
    twin = native_tool(task)
    waits = without_blocking_form(twin)
    awaited = {kind for kind, agent in subagents.items() if only_async(agent)}

    async def dispatch(wanted: Dispatch, context: CellContext) -> Any:
        running: EvalCall = context.host
        given = {"description": wanted.description, "subagent_type": wanted.subagent_type}
        made = running.call_for(waits if wanted.subagent_type in awaited else twin, given, context)
        if isinstance(made, str):
            return made
        event = {"type": SUBAGENT_STREAM_EVENT_TYPE, "id": running.event_id(context)}
        call = _run(*made, wanted.response_schema, context, refuses_in_text=bool(subagents))
        return await running.progress.around(event, _described(wanted), call)

    return dispatch


def _described(wanted: Dispatch) -> dict[str, str]:
    label = " ".join(wanted.label.split())[:_LABEL_CHARS]
    return {
        "subagent_type": wanted.subagent_type,
        "label": label or " ".join(wanted.description.split())[:_SHORT_CHARS],
        "description": wanted.description[:_DESCRIPTION_CHARS],
    }


async def _run(
    tool: BaseTool,
    given: dict[str, Any],
    schema: Any,
    context: CellContext,
    refuses_in_text: bool,
) -> Any:
    configurable = {}
    if schema is not None:
        # long loaded: the `task` tool that reads the key is of this module
        from deepagents.middleware.subagents import SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY

        configurable[SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY] = dict(schema)
    answer = await run_tool(tool, given, context, configurable)
    returned = noting.get().value
    if refuses_in_text and isinstance(returned, str):
        # deepagents' tool reports unknown types as plain text; its answers are commands.
        raise GuestException(returned, tool="task")
    if schema is None:
        return answer
    try:
        return json.loads(answer)
    except (TypeError, ValueError) as error:
        raise GuestException("the subagent's answer is not JSON", tool="task") from error
