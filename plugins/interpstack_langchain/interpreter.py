"""The interpreter of one middleware: everything that its hooks need, made of its arguments."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import attrs
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from interpstack import ConfigurationError, InterpreterStack
from interpstack_agents import LiveSessions, Persistence
from interpstack_langchain.durability.checkpoint_stores import CheckpointStores
from interpstack_langchain.durability.spending import Spending
from interpstack_langchain.evals.eval_call import EvalCall, running_eval
from interpstack_langchain.evals.eval_queue import CallQueue
from interpstack_langchain.evals.eval_runner import Evals
from interpstack_langchain.evals.eval_tool import EvalTool
from interpstack_langchain.options import Options
from interpstack_langchain.prompt import tool_description
from interpstack_langchain.rules.agent_rules import AgentRules
from interpstack_langchain.rules.approval_rules import ApprovalRules
from interpstack_langchain.stacks import StackArguments
from interpstack_langchain.state.channels import Channels
from interpstack_langchain.state.modes import mode_of
from interpstack_langchain.state.owners import as_mapping, owner_of, passes, turn_key
from interpstack_langchain.tools.backend_skills import BackendSkills
from interpstack_langchain.tools.offer_builder import AgentOffers, OfferedTools
from interpstack_langchain.tools.tool_names import ToolNames

__all__ = ["Interpreter", "ModelCall"]


@attrs.frozen
class ModelCall:
    """One call of the agent's model.

    Attributes:
        request: The request, with the prompt of the interpreter.
        spending: Budgets of turns, if there are any.
        state: State of the graph.
        channels: Channels of the interpreter.
    """

    request: ModelRequest[Any]
    spending: Spending | None
    state: Mapping[str, Any]
    channels: Channels

    def answered(
        self, response: ModelResponse[Any]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """The response, with the amounts drawn on the turn's budget by the end of the call."""
        if self.spending is None:
            return response
        told = self.spending.told(turn_key(self.state), self.state)
        command: Command[Any] = Command(update=self.channels.named(told))
        return ExtendedModelResponse(response, command)


@attrs.frozen(kw_only=True, eq=False)
class Interpreter:
    """The parts of one middleware.

    Attributes:
        options: Options of the middleware, as its stack fulfils them.
        stack: Stack of the interpreter.
        owned: Whether the stack is closed with the middleware.
        mode: Persistence mode.
        sessions: Sessions of the conversations.
        offered: Tools that the model of each conversation was offered last.
        stores: Stores of the records of evals.
        queue: Queue of the evals of one message.
        offers: Offers to code.
        channels: Names of the interpreter's channels in the graph's state.
        spending: Budgets of turns, if there are any.
        rules: Rules for calls from code, such as approvals.
        names: Names of tools in the arguments, to be checked against the agent's tools.
    """

    options: Options
    stack: InterpreterStack
    owned: bool
    mode: Persistence
    sessions: LiveSessions
    offered: OfferedTools
    stores: CheckpointStores
    queue: CallQueue
    offers: AgentOffers
    channels: Channels
    spending: Spending | None
    rules: AgentRules
    names: ToolNames

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Interpreter:
        """The interpreter for the arguments of `CodeInterpreterMiddleware`, by name.

        Raises:
            ConfigurationError: An argument has a wrong value.
            TypeError: An argument is of a wrong type.
        """
        options = Options(**_of_class(Options, arguments))
        spending = Spending.of(arguments["budget"], arguments["cost_of"])
        approvals = ApprovalRules.of(arguments["interrupt_on"])
        names = ToolNames.of(options.ptc, arguments["interrupt_on"], arguments["late_tools"])
        stack, options = _stack(arguments, options)
        callable_ = names.callable_(options.tool_name, subagents=options.subagents)
        names.check_approvals(arguments["interrupt_on"], callable_)
        if approvals and not options.durable:
            raise ConfigurationError(
                "interrupt_on needs durable=True and a plugin that records evals, as 'durable' "
                "does: without a record, calls that were approved would be made again"
            )
        mode, owned = _mode(stack, options), arguments["stack"] is None
        # Others that use a ready stack must not get the sessions of this middleware.
        keys = "" if owned else f"{secrets.token_hex(8)}|"
        return cls(
            options=options,
            stack=stack,
            owned=owned,
            mode=mode,
            sessions=LiveSessions(stack, mode, keys),
            offered=OfferedTools(),
            stores=CheckpointStores(
                _as_bytes(options.snapshot_signing_key),
                options.pause_grace,
                [tool for tool in options.ptc if isinstance(tool, BaseTool)],
            ),
            queue=CallQueue(options.tool_name),
            offers=AgentOffers(stack, options, mode.scope, _skills(stack, arguments)),
            channels=Channels.of(options.tool_name),
            spending=spending,
            rules=AgentRules(approvals, callable_, options.durable),
            names=names,
        )

    def tool(self) -> EvalTool:
        """The tool that takes the code."""
        evals = Evals(
            options=self.options,
            stack=self.stack,
            mode=self.mode,
            sessions=self.sessions,
            offered=self.offered,
            stores=self.stores,
            queue=self.queue,
            offers=self.offers,
            channels=self.channels,
            spending=self.spending,
        )
        language = self.stack.language
        described = tool_description(self.mode.scope, language)
        return EvalTool.make(self.options.tool_name, described, evals.run, language)

    def view(self, state: Any) -> Mapping[str, Any]:
        """A graph's state with this interpreter's channels under their plain names."""
        return self.channels.view(as_mapping(state))

    @contextmanager
    def model_call(self, request: ModelRequest[Any]) -> Iterator[ModelCall]:
        """Add the interpreter's prompt to a call of the model, and charge the turn for it."""
        spending, state = self.spending, self.view(request.state)
        drawing = nullcontext() if spending is None else spending.model_call(turn_key(state), state)
        with drawing:
            yield ModelCall(self._with_prompt(request, state), spending, state, self.channels)

    def _with_prompt(
        self, request: ModelRequest[Any], state: Mapping[str, Any]
    ) -> ModelRequest[Any]:
        self.names.see(request.tools)
        tools = [tool for tool in request.tools if isinstance(tool, BaseTool)]
        self.offered.note(owner_of(state), tools)
        text = self.offers.prompt(tools)
        before = request.system_message
        if before is None:
            message = SystemMessage(content=text)
        elif isinstance(before.content, str):
            message = SystemMessage(content=f"{before.content}\n\n{text}")
        else:
            message = SystemMessage(content=[*before.content, {"type": "text", "text": text}])
        return request.override(system_message=message)

    @contextmanager
    def eval_call(
        self, request: ToolCallRequest, run: Any, *, is_async: bool
    ) -> Iterator[EvalCall]:
        """Lend an eval the handler for tool calls, and let it wait for earlier evals.

        Args:
            request: The model's call of the eval tool.
            run: Runs a tool call through the agent's tool node.
            is_async: Whether the graph runs on the event loop of the caller.
        """
        self.names.check(request.runtime.tools)
        running = EvalCall(
            request,
            run,
            self.rules.approvals(request.runtime.config),
            self.stores.open(request, is_async),
            tells_tools=self.options.tool_events,
            raises=self.options.tool_errors == "raise",
        )
        token = running_eval.set(running)
        try:
            with self.queue.taking_part(request):
                yield running
        finally:
            running_eval.reset(token)

    async def end_turn(self, state: Any) -> None:
        """Release the resources of this run of the agent."""
        state = self.view(state)
        owner = owner_of(state)
        if self.spending is not None:
            self.spending.end(turn_key(state))
        await self.sessions.end_turn(owner, close=passes(owner) or self.mode.scope == "turn")


def _of_class(cls: type[attrs.AttrsInstance], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are fields of a class."""
    return {field.name: arguments[field.name] for field in attrs.fields(cls)}


def _stack(arguments: Mapping[str, Any], options: Options) -> tuple[InterpreterStack, Options]:
    """The stack, a ready one or one of the preset's plugins, and the options it fulfils."""
    given = StackArguments(**_of_class(StackArguments, arguments))
    skills = arguments["skills_backend"] is not None
    budget = arguments["budget"] is not None
    if given.stack is not None:
        return given.stack, given.adopt(given.stack, options, skills=skills, budget=budget)
    stack = given.make(options)
    return stack, given.settle(stack, options, skills=skills, budget=budget)


def _mode(stack: InterpreterStack, options: Options) -> Persistence:
    most = options.max_snapshot_bytes
    return mode_of(stack, options.mode)(
        max_bytes=options.memory_limit if most is None else most,
        signing_key=_as_bytes(options.snapshot_signing_key),
    )


def _skills(stack: InterpreterStack, arguments: Mapping[str, Any]) -> BackendSkills | None:
    backend = arguments["skills_backend"]
    return None if backend is None else BackendSkills(backend, stack.language.module_endings)


def _as_bytes(key: str | bytes | None) -> bytes | None:
    return key.encode() if isinstance(key, str) else key
