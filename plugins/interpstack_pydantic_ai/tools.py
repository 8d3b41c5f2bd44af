"""The agent's tools as code calls them: through PydanticAI, with its validation and approvals."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Hashable, Mapping
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import replace
from typing import Any

import attrs
from pydantic_ai import (
    ApprovalRequired,
    CallDeferred,
    RunContext,
    ToolDenied,
    UsageLimitExceeded,
    UserError,
)
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from interpstack import CellContext, GuestException, HostTool
from interpstack_agents import (
    Approved,
    CallQuestion,
    Decision,
    DecisionNeeded,
    Denied,
    HostFailure,
    StateJournal,
    call_for_code,
    check_edit,
    has_handles,
    read_handles,
    read_texts,
    shown_arguments,
    shown_handles,
    with_handles,
)
from interpstack_pydantic_ai.values import message_for_code, plain_args, to_guest

__all__ = ["EvalRun", "asking", "host_tool", "key_of"]


@attrs.define(eq=False, repr=False)
class EvalRun:
    """One run of an eval, which its tools find as `CellContext.host`.

    Attributes:
        ctx: The context of the model's call.
        tools: The tools that code may call, by name.
        toolset: The agent's toolset, which calls them.
        journal: The record of the eval.
        decisions: Decisions by the ids of their questions.
    """

    ctx: RunContext[Any]
    tools: Mapping[str, ToolsetTool[Any]]
    toolset: AbstractToolset[Any]
    journal: StateJournal
    decisions: Mapping[str, Decision]
    _manager: ToolManager[Any] = attrs.field(init=False)
    #: Calls that run now, for limits on their number.
    _running: int = attrs.field(default=0, init=False)
    #: Calls inside their tools: any number of them, or one of a sequential tool.
    _inside: int = attrs.field(default=0, init=False)
    _alone: bool = attrs.field(default=False, init=False)
    _left: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        # A manager of its own, because the model's may not have the tools that code alone calls.
        self._manager = ToolManager(
            toolset=self.toolset,
            root_capability=self.ctx.root_capability,
            ctx=self.ctx,
            tools=dict(self.tools),
        )

    def check_edit(self, question: CallQuestion, args: Mapping[str, Any]) -> None:
        """Refuse changed arguments that a tool does not take.

        Raises:
            ValueError: The arguments do not fit the tool's schema.
            UserError: Code may not call the tool any more.
        """
        tool = self.tools.get(question.tool)
        if tool is None:
            raise UserError(f"code may not call {question.tool} any more")
        if has_handles(read_handles(args)):
            return  # the tool itself is asked about values that stay with the host
        check_edit(tool.tool_def.parameters_json_schema, args)
        tool.args_validator.validate_python(dict(args), context=self.ctx.validation_context)

    async def call(self, name: str, given: dict[str, Any], context: CellContext) -> Any:
        """Call a tool for code.

        Raises:
            DecisionNeeded: A person has to decide about the call.
            GuestException: The call was denied, or failed in a way that a model would read.
            HostFailure: The call failed in another way.
        """
        self._check_usage()
        self._running += 1
        try:
            async with self._entered(alone=self.tools[name].tool_def.sequential):
                call = self._called(name, given, context)
                return await call_for_code(call, message_for_code, (DecisionNeeded,))
        finally:
            self._running -= 1

    @asynccontextmanager
    async def _entered(self, *, alone: bool) -> AsyncIterator[None]:
        """Wait until a call may run: beside a call of a sequential tool, no other one runs."""
        while self._alone or (alone and self._inside):
            self._left.clear()
            await self._left.wait()
        self._alone, self._inside = alone, self._inside + 1
        try:
            yield
        finally:  # without an `await`, at which another cancellation would leave the count too high
            self._alone, self._inside = False, self._inside - 1
            self._left.set()

    async def _called(self, name: str, given: dict[str, Any], context: CellContext) -> Any:
        approved, args = False, given
        if self.decisions:
            decision = self.decisions.get(_question(context, name, given).id)
            if isinstance(decision, Denied):
                raise GuestException(decision.message)
            if isinstance(decision, Approved):
                approved = True
                if decision.args is not None:
                    changed = read_handles(read_texts(decision.args))
                    asked = shown_arguments(given, context)
                    args = with_handles(name, changed, asked, context)
        part = ToolCallPart(name, args, f"{self.ctx.tool_call_id}.{context.request_id}")
        try:
            value = await self._manager.handle_call(
                part, approved=approved, wrap_validation_errors=False
            )
        except ApprovalRequired as error:
            said = _question(context, name, given, error.metadata)
            raise DecisionNeeded([said]) from error
        except CallDeferred as error:
            raise UserError(
                f"tool {name!r} is answered outside of the run, for which code cannot wait: answer "
                "it with HandleDeferredToolCalls, or leave it out of ptc"
            ) from error
        if isinstance(value, ToolDenied):
            raise GuestException(value.message)
        return to_guest(value)

    def _check_usage(self) -> None:
        """Refuse a call beyond the run's limit; the eval counts as one call, as those at work do.

        Raises:
            HostFailure: The limit is reached.
        """
        limits = self.ctx.usage_limits
        if limits is None or limits.tool_calls_limit is None:
            return
        projected = copy(self.ctx.usage)
        projected.tool_calls += self._running + 2
        try:
            limits.check_before_tool_call(projected)
        except UsageLimitExceeded as error:
            raise HostFailure(error) from error


def asking(tool: ToolsetTool[Any]) -> ToolsetTool[Any]:
    """The tool with a definition by which each of its calls needs an approval."""
    if tool.tool_def.kind != "function":
        return tool
    return replace(tool, tool_def=replace(tool.tool_def, kind="unapproved"))


def host_tool(tool: ToolDefinition) -> HostTool:
    """The tool as plugins know tools; `context.host` is the `EvalRun`."""

    async def call(given: dict[str, Any], context: CellContext) -> Any:
        return await context.host.call(tool.name, given, context)

    return HostTool(
        name=tool.name,
        call=call,
        description=tool.description or "",
        input_schema=tool.parameters_json_schema,
        output_schema=tool.return_schema,
        passes=(DecisionNeeded, HostFailure),
        concurrency=1 if tool.sequential else None,
    )


def key_of(tool: ToolDefinition) -> Hashable:
    """Equal for definitions of which code sees the same, which each step of a run makes anew."""
    schemas = json.dumps([tool.parameters_json_schema, tool.return_schema], sort_keys=True)
    return tool.name, tool.description, schemas, tool.sequential


def _question(
    context: CellContext, name: str, given: dict[str, Any], metadata: Any = None
) -> CallQuestion:
    try:
        said = plain_args(metadata or {})
        shown = shown_handles(shown_arguments(given, context))
        return CallQuestion.of(context.call_key, name, plain_args(shown), said)
    except ValueError as error:
        raise GuestException(str(error), name="TypeError") from error
