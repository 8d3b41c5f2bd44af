"""The agent's toolset with the eval tool, and with some tools for code alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import attrs
from pydantic_ai import ApprovalRequired, RunContext, UserError
from pydantic_ai.messages import InstructionPart
from pydantic_ai.tools import AgentDepsT, ToolDefinition, ToolSelector, matches_tool_selector
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
from pydantic_core import SchemaValidator, core_schema

from interpstack_pydantic_ai.evals import AgentEvals, CodeCall
from interpstack_pydantic_ai.questions import metadata_of
from interpstack_pydantic_ai.tools import asking

__all__ = ["EvalToolOptions", "InterpreterToolset"]

#: How often a model may send malformed arguments before the run fails.
_RETRIES: Final = 3
_VALIDATOR: Final = SchemaValidator(
    core_schema.typed_dict_schema(
        {"code": core_schema.typed_dict_field(core_schema.str_schema(strict=True))},
        extra_behavior="forbid",
    )
)


@attrs.frozen
class EvalToolOptions:
    """The eval tool as the capability describes it.

    Attributes:
        evals: Runs the code.
        name: Name of the tool.
        ptc: The tools that code may call.
        interrupt_on: Those of them whose calls from code need an approval.
        hides: Whether the model does not see the tools that code may call.
        conversation_of: Returns the id of the conversation that a run belongs to.
    """

    evals: AgentEvals
    name: str
    ptc: ToolSelector[Any]
    interrupt_on: ToolSelector[Any]
    hides: bool
    conversation_of: Callable[[RunContext[Any]], str]

    def definition(self) -> ToolDefinition:
        """The tool as the model sees it."""
        language = self.evals.stack.language.title
        return ToolDefinition(
            name=self.name,
            description=f"Run {language} in a sandbox and get the value of its last expression.",
            parameters_json_schema={
                "type": "object",
                "properties": {"code": {"type": "string", "description": f"{language} to run."}},
                "required": ["code"],
                "additionalProperties": False,
            },
            # The evals of one message run one after another: later ones see the variables.
            sequential=True,
        )


@dataclass
class InterpreterToolset(WrapperToolset[AgentDepsT]):
    """The toolset of one run of an agent: the wrapped tools, and the eval tool that calls them."""

    eval_tool: EvalToolOptions
    #: The tools that code may call in this step.
    _offered: dict[str, ToolsetTool[Any]] = field(default_factory=dict)
    #: Evals that paused in this run, by the message of the model; those behind them wait.
    _paused: dict[str, str] = field(default_factory=dict)

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        own = self.eval_tool
        tools = await super().get_tools(ctx)
        if own.name in tools:
            raise UserError(
                f"the agent has a tool {own.name!r} of its own; pass CodeInterpreter(tool_name=…)"
            )
        offered: dict[str, ToolsetTool[Any]] = {}
        for name, tool in tools.items():
            if ctx.is_tool_available(tool.tool_def) and await matches_tool_selector(
                own.ptc, ctx, tool.tool_def
            ):
                asks = await matches_tool_selector(own.interrupt_on, ctx, tool.tool_def)
                offered[name] = asking(tool) if asks else tool
        self._offered.clear()
        self._offered.update(offered)
        seen = {name: tool for name, tool in tools.items() if not (own.hides and name in offered)}
        seen[own.name] = ToolsetTool(
            toolset=self,
            tool_def=own.definition(),
            max_retries=_RETRIES,
            args_validator=_VALIDATOR,
        )
        return seen

    async def get_instructions(
        self, ctx: RunContext[AgentDepsT]
    ) -> str | InstructionPart | Sequence[str | InstructionPart] | None:
        others = await super().get_instructions(ctx)
        parts = [others] if isinstance(others, (str, InstructionPart)) else list(others or ())
        # It changes with the tools alone, so providers may cache what precedes it.
        return [*parts, InstructionPart(self.eval_tool.evals.prompt(self._offered), dynamic=True)]

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentDepsT],
        tool: ToolsetTool[AgentDepsT],
    ) -> Any:
        if name != self.eval_tool.name:
            return await super().call_tool(name, tool_args, ctx, tool)
        return await self._eval(tool_args["code"], ctx, dict(self._offered))

    async def _eval(
        self, code: str, ctx: RunContext[AgentDepsT], tools: Mapping[str, ToolsetTool[Any]]
    ) -> Any:
        call = CodeCall.of(ctx)
        if self._paused.get(call.message) == call.key:
            del self._paused[call.message]
        if call.message in self._paused:
            raise ApprovalRequired(metadata_of([]))  # nothing is asked: the eval only waits
        conversation = self.eval_tool.conversation_of(ctx)
        try:
            return await self.eval_tool.evals.run(code, ctx, conversation, tools, self.wrapped)
        except ApprovalRequired:
            self._paused[call.message] = call.key
            raise
