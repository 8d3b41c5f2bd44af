"""The tools by which a model checks, starts and follows workflows."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field, create_model

from interpstack import InterpstackError, run_sync
from interpstack_langchain.workflows.by_models.admission import Wanted
from interpstack_langchain.workflows.by_models.handlers import WorkflowHandlers
from interpstack_langchain.workflows.by_models.lines import line
from interpstack_langchain.workflows.by_models.options import WorkflowOptions

__all__ = ["workflow_tools"]

#: Characters of an error.
_ERROR_CHARS = 1000


class BudgetInput(BaseModel):
    """Limits of a run; where a limit is missing, the host's limit applies."""

    tokens: int | None = Field(default=None, ge=0, description="Tokens in total.")
    agents: int | None = Field(default=None, ge=0, description="Agent calls in total.")
    cost: float | None = Field(default=None, ge=0, description="Money in total.")
    seconds: float | None = Field(default=None, ge=0, description="Time of agents, added up.")


def workflow_tools(handlers: WorkflowHandlers) -> list[BaseTool]:
    """Make the tools of one middleware.

    Args:
        handlers: Handles the calls of the tools.
    """
    makers = [_check, _start, _status, _result, _stop, *([_send] if handlers.options.sends else [])]
    return [make(handlers) for make in makers]


def _check(handlers: WorkflowHandlers) -> BaseTool:
    async def check(runtime: ToolRuntime[Any, Any], **given: Any) -> str:
        return await handlers.check(_wanted(given))

    described = (
        "Check a workflow without running it: metadata, syntax, unknown agents, and a dry run with"
        " stand-ins for all answers, which lists the agents and phases it would call."
    )
    return _tool(handlers, "check", described, check, _workflow_fields(handlers.options))


def _start(handlers: WorkflowHandlers) -> BaseTool:
    async def start(runtime: ToolRuntime[Any, Any], wait_seconds: float, **given: Any) -> str:
        return await handlers.start(runtime, _wanted(given), wait_seconds)

    described = (
        "Start a workflow in the background. Answers with the id of its run at once, or after"
        " wait_seconds, or when it ends before that."
    )
    fields = _workflow_fields(handlers.options) | _wait_field(handlers.options)
    return _tool(handlers, "start", described, start, fields)


def _status(handlers: WorkflowHandlers) -> BaseTool:
    async def status(runtime: ToolRuntime[Any, Any], run: str | None, wait_seconds: float) -> str:
        return await handlers.status(runtime, run, wait_seconds)

    described = (
        "Report the state of a run of a workflow: counts by phase, agents at work, failures, what"
        " it waits for, and the summary when it has ended. Without a run, list the runs."
    )
    run: Any = (str | None, Field(default=None, description="Id of the run."))
    fields = {"run": run, **_wait_field(handlers.options)}
    return _tool(handlers, "status", described, status, fields)


def _result(handlers: WorkflowHandlers) -> BaseTool:
    async def result(runtime: ToolRuntime[Any, Any], run: str, path: str, offset: int) -> str:
        return await handlers.result(runtime, run, path, offset)

    described = "Read a part of the result of a run that has completed."
    path = "Names and numbers to the part, as in `files/0/name`; empty for all."
    fields = _run_field() | {
        "path": (str, Field(default="", description=path)),
        "offset": (int, Field(default=0, ge=0, description="Characters to leave out before.")),
    }
    return _tool(handlers, "result", described, result, fields)


def _stop(handlers: WorkflowHandlers) -> BaseTool:
    async def stop(runtime: ToolRuntime[Any, Any], run: str) -> str:
        return await handlers.stop(runtime, run, handlers.options.max_wait_seconds)

    return _tool(
        handlers, "stop", "End a run of a workflow; its agents are stopped.", stop, _run_field()
    )


def _send(handlers: WorkflowHandlers) -> BaseTool:
    async def send(
        runtime: ToolRuntime[Any, Any], run: str, to: str, value: Any, wait_seconds: float
    ) -> str:
        return await handlers.send(runtime, run, to, value, wait_seconds)

    described = "Answer a question of a run, or send it a signal."
    to = "Id of the question, or name of the signal, as the status reports it."
    fields = _run_field() | {
        "to": (str, Field(description=to)),
        "value": (Any, Field(default=None, description="The answer, or the signal's value.")),
    }
    return _tool(handlers, "send", described, send, fields | _wait_field(handlers.options))


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
    handlers: WorkflowHandlers,
    verb: str,
    described: str,
    work: Callable[..., Coroutine[Any, Any, str]],
    fields: dict[str, Any],
) -> BaseTool:
    """Return a tool; its functions are plain ones, since agents copy their tools."""
    name = handlers.options.tool(verb)

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
