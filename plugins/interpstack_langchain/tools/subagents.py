"""Subagents, dispatched from code through the agent's own `task` tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from langchain_core.tools import BaseTool

from interpstack import CellContext
from interpstack.values import same_json
from interpstack_langchain.evals.eval_call import EvalCall
from interpstack_langchain.events import SUBAGENT_STREAM_EVENT_TYPE
from interpstack_langchain.tools.task_tool import RESPONSE_SCHEMA, is_task, parsed_answer
from interpstack_langchain.tools.tool_calls import reported, run_tool
from interpstack_langchain.tools.wrapped_tools import native_tool
from interpstack_subagents.api import Dispatch

__all__ = ["dispatcher"]

_DESCRIPTION_CHARS: Final = 200
_LABEL_CHARS: Final = 120
#: Of the description, where it stands for a missing label.
_SHORT_CHARS: Final = 60


def dispatcher(task: BaseTool) -> Callable[[Dispatch, CellContext], Awaitable[Any]] | None:
    """A function that runs subagents through the agent's `task` tool.

    The answer is the subagent's last message, or, with a response schema, the parsed object. Start
    and end are reported on the graph's custom stream; the id of a dispatch is the same when its
    eval is replayed. A reviewer sees the schema, too, and may change the call to one of another
    tool.

    Returns:
        `None` for a tool that only has the same name.
    """
    if not is_task(task):
        return None
    wrapped = native_tool(task)

    async def dispatch(wanted: Dispatch, context: CellContext) -> Any:
        running: EvalCall = context.host
        given: dict[str, Any] = {
            "description": wanted.description,
            "subagent_type": wanted.subagent_type,
        }
        if wanted.response_schema is not None:
            given[RESPONSE_SCHEMA] = dict(wanted.response_schema)
        made = running.call_for(wrapped, given, context)
        if isinstance(made, str):
            typed = wanted.response_schema is not None
            return parsed_answer(made, "the reviewer") if typed else made
        tool, args = made
        if not is_task(tool):
            return await reported(tool, args, context)
        event = {"type": SUBAGENT_STREAM_EVENT_TYPE, "id": running.event_id(context)}
        label = wanted.label if same_json(args, given) else ""
        call = run_tool(tool, args, context)
        return await running.progress.around(event, _described(args, label), call)

    return dispatch


def _described(args: dict[str, Any], label: str) -> dict[str, str]:
    description = str(args["description"])
    return {
        "subagent_type": str(args["subagent_type"]),
        "label": " ".join(label.split())[:_LABEL_CHARS]
        or " ".join(description.split())[:_SHORT_CHARS],
        "description": description[:_DESCRIPTION_CHARS],
    }
