"""The agent's toolset with the eval tool, and with some tools for code alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import attrs
from pydantic_ai import ApprovalRequired, ModelRetry, RunContext, UserError
from pydantic_ai.messages import InstructionPart
from pydantic_ai.tools import AgentDepsT, ToolDefinition, ToolSelector, matches_tool_selector
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
from pydantic_core import SchemaValidator, core_schema

from interpstack import SourceTooLarge
from interpstack.checks import listed, shown
from interpstack_pydantic_ai.evals import AgentEvals, CodeCall
from interpstack_pydantic_ai.questions import metadata_of
from interpstack_pydantic_ai.tools import asking

__all__ = ["EvalToolOptions", "InterpreterToolset"]

#: How often a model may send malformed arguments before the run fails.
_RETRIES: Final = 3
#: Names of tools that a message lists.
_NAMES: Final = 20
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
    #: Names of all tools that agents have had so far, and the selectors that have selected one.
    _known: set[str] = attrs.field(factory=set, init=False)
    _used: set[str] = attrs.field(factory=set, init=False)

    async def selects(self, argument: str, ctx: RunContext[Any], tool: ToolDefinition) -> bool:
        """Whether a selector selects a tool.

        Args:
            argument: `ptc` or `interrupt_on`.
            ctx: The context of the step.
            tool: The tool.
        """
        selected = await matches_tool_selector(getattr(self, argument), ctx, tool)
        if selected:
            self._used.add(argument)
        return selected

    def note(self, names: Iterable[str]) -> None:
        """Note the tools that the agent has in a step."""
        self._known.update(names)

    def check(self) -> None:
        """Refuse selectors of tools that no step had: calls would be made without an approval.

        Raises:
            UserError: There is no such tool.
        """
        for argument in ("ptc", "interrupt_on"):
            selector = getattr(self, argument)
            if isinstance(selector, Mapping):
                wrong = bool(selector) and argument not in self._used
                what = "is a mapping of metadata, which no tool has that code may call"
                if named := sorted(self._known.intersection(selector)):
                    what += f"; to name tools, pass a list, as in {named}"
            elif isinstance(selector, str) or callable(selector):
                continue
            else:
                unknown = [name for name in selector if name not in self._known]
                wrong, what = bool(unknown), f"names {listed(unknown, _NAMES, shown)}"
            if wrong:
                tools = listed(sorted(self._known), _NAMES) or "none"
                raise UserError(
                    f"{argument} {what}; the agent's tools so far are: {tools}. For tools that "
                    "come later, pass a function of the context and a ToolDefinition"
                )

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
        own.note(tools)
        offered: dict[str, ToolsetTool[Any]] = {}
        for name, tool in tools.items():
            if ctx.is_tool_available(tool.tool_def) and await own.selects(
                "ptc", ctx, tool.tool_def
            ):
                asks = await own.selects("interrupt_on", ctx, tool.tool_def)
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
        self.eval_tool.check()
        conversation = self.eval_tool.conversation_of(ctx)
        try:
            return await self.eval_tool.evals.run(code, ctx, conversation, tools, self.wrapped)
        except ApprovalRequired:
            self._paused[call.message] = call.key
            raise
        except SourceTooLarge as error:
            raise ModelRetry(str(error)) from error
