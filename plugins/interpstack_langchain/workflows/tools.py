"""The tools by which a model checks, starts and follows workflows."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field, create_model

from interpstack import InterpstackError, run_sync
from interpstack_langchain.workflows.by_models.admission import Wanted
from interpstack_langchain.workflows.by_models.desk import Desk
from interpstack_langchain.workflows.by_models.lines import line
from interpstack_langchain.workflows.by_models.options import WorkflowOptions

__all__ = ["workflow_tools"]

#: Characters of an error.
_ERROR_CHARS = 1000


class BudgetInput(BaseModel):
    """Limits of a run; without one, the host's holds."""

    tokens: int | None = Field(default=None, ge=0, description="Tokens in total.")
    agents: int | None = Field(default=None, ge=0, description="Agent calls in total.")
    cost: float | None = Field(default=None, ge=0, description="Money in total.")
    seconds: float | None = Field(default=None, ge=0, description="Time of agents, added up.")


def workflow_tools(desk: Desk) -> list[BaseTool]:
    """The tools of one middleware.

    Args:
        desk: Does what they ask for.
    """
    options = desk.options
    tools = [_check(desk), _start(desk), _status(desk), _result(desk), _stop(desk)]
    return [*tools, _send(desk)] if options.sends else tools


def _check(desk: Desk) -> BaseTool:
    async def check(runtime: ToolRuntime[Any, Any], **given: Any) -> str:
        return await desk.check(_wanted(given))

    described = (
        "Check a workflow without running it: metadata, syntax, unknown agents, and a dry run with"
        " stand-ins for all answers, which tells the agents and phases it would call."
    )
    return _tool(desk, "check", described, check, _workflow_fields(desk.options))


def _start(desk: Desk) -> BaseTool:
    async def start(runtime: ToolRuntime[Any, Any], wait_seconds: float, **given: Any) -> str:
        return await desk.start(runtime, _wanted(given), wait_seconds)

    described = (
        "Start a workflow in the background. Answers with the id of its run at once, or after"
        " wait_seconds, or when it ends before that."
    )
    fields = _workflow_fields(desk.options) | _wait_field(desk.options)
    return _tool(desk, "start", described, start, fields)


def _status(desk: Desk) -> BaseTool:
    async def status(runtime: ToolRuntime[Any, Any], run: str | None, wait_seconds: float) -> str:
        return await desk.status(runtime, run, wait_seconds)

    described = (
        "Tell how a run of a workflow stands: counts by phase, agents at work, failures, what it"
        " waits for, and the summary when it has ended. Without a run, list the runs."
    )
    run: Any = (str | None, Field(default=None, description="Id of the run."))
    return _tool(desk, "status", described, status, {"run": run, **_wait_field(desk.options)})


def _result(desk: Desk) -> BaseTool:
    async def result(runtime: ToolRuntime[Any, Any], run: str, path: str, offset: int) -> str:
        return await desk.result(runtime, run, path, offset)

    described = "Read a part of the result of a run that has completed."
    path = "Names and numbers to the part, as in `files/0/name`; empty for all."
    fields = _run_field() | {
        "path": (str, Field(default="", description=path)),
        "offset": (int, Field(default=0, ge=0, description="Characters to leave out before.")),
    }
    return _tool(desk, "result", described, result, fields)


def _stop(desk: Desk) -> BaseTool:
    async def stop(runtime: ToolRuntime[Any, Any], run: str) -> str:
        return await desk.stop(runtime, run, desk.options.max_wait_seconds)

    return _tool(
        desk, "stop", "End a run of a workflow; its agents are stopped.", stop, _run_field()
    )


def _send(desk: Desk) -> BaseTool:
    async def send(
        runtime: ToolRuntime[Any, Any], run: str, to: str, value: Any, wait_seconds: float
    ) -> str:
        return await desk.send(runtime, run, to, value, wait_seconds)

    described = "Answer a question of a run, or send it a signal."
    to = "Id of the question, or name of the signal, as the status tells it."
    fields = _run_field() | {
        "to": (str, Field(description=to)),
        "value": (Any, Field(default=None, description="The answer, or the signal's value.")),
    }
    return _tool(desk, "send", described, send, fields | _wait_field(desk.options))


def _wanted(given: dict[str, Any]) -> Wanted:
    budget = given.get("budget")
    return Wanted(
        source=given.get("source"),
        name=given.get("name"),
        args=given.get("args"),
        budget=budget.model_dump(exclude_none=True) if isinstance(budget, BudgetInput) else {},
    )


def _workflow_fields(options: WorkflowOptions) -> dict[str, Any]:
    source = (str | None, Field(default=None, description="Source of a workflow module."))
    name = (str | None, Field(default=None, description="Name of a known workflow."))
    return {
        **({"source": source} if options.writes else {}),
        "name": name if options.writes else (str, Field(description="Name of a known workflow.")),
        "args": (Any, Field(default=None, description="Arguments of the workflow, as JSON.")),
        "budget": (BudgetInput | None, Field(default=None, description="Limits of the run.")),
    }


def _wait_field(options: WorkflowOptions) -> dict[str, Any]:
    described = f"Seconds to wait for the end, at most {options.max_wait_seconds:g}."
    return {"wait_seconds": (float, Field(default=0.0, ge=0, description=described))}


def _run_field() -> dict[str, Any]:
    return {"run": (str, Field(description="Id of the run."))}


def _tool(
    desk: Desk,
    verb: str,
    described: str,
    work: Callable[..., Coroutine[Any, Any, str]],
    fields: dict[str, Any],
) -> BaseTool:
    """A tool; its functions are plain ones, since agents copy their tools."""
    name = desk.options.tool(verb)

    async def call(runtime: ToolRuntime[Any, Any], **given: Any) -> str:
        try:
            return await work(runtime, **given)
        except InterpstackError as error:
            raise ToolException(line(str(error), _ERROR_CHARS)) from error

    def call_sync(runtime: ToolRuntime[Any, Any], **given: Any) -> str:
        return run_sync(call(runtime, **given))

    return StructuredTool.from_function(
        func=call_sync,
        coroutine=call,
        name=name,
        description=described,
        args_schema=create_model(f"{verb.title()}Input", __doc__=described, **fields),
        infer_schema=False,
        handle_tool_error=True,
    )
