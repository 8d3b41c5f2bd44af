"""The interpreter of one middleware: everything that its hooks need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import attrs
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command

from interpstack_agents import PersistenceScope
from interpstack_langchain.durability.spending import Spending
from interpstack_langchain.evals.attachment_blocks import for_model
from interpstack_langchain.evals.call_names import SiblingCalls
from interpstack_langchain.evals.eval_call import EvalCall, running_eval
from interpstack_langchain.evals.eval_runner import Evals
from interpstack_langchain.evals.eval_tool import check_own
from interpstack_langchain.evals.surface import Surface
from interpstack_langchain.langgraph_internals.call_scopes import has_checkpointer
from interpstack_langchain.langgraph_internals.siblings import graph_run
from interpstack_langchain.prompt import with_section
from interpstack_langchain.rules.agent_rules import AgentRules
from interpstack_langchain.rules.call_limits import folded
from interpstack_langchain.rules.direct_calls import DirectCall
from interpstack_langchain.servers.mcp_tools import Servers
from interpstack_langchain.state.channels import Channels
from interpstack_langchain.state.graph_state import new_turn, turn_of
from interpstack_langchain.state.owners import as_mapping, owner_of, passes, turn_key
from interpstack_langchain.state.variables import SharedPlace
from interpstack_langchain.tools.native_calls import running_native_call
from interpstack_langchain.tools.tool_names import ToolNames

if TYPE_CHECKING:
    from interpstack_langchain.background.background import Background

__all__ = ["Interpreter", "ModelCall"]


@attrs.frozen
class ModelCall:
    """One call of the agent's model.

    Attributes:
        request: The request, with the prompt of the interpreter.
        spending: Budgets of turns, if there are any.
        state: State of the graph.
        channels: Channels of the interpreter.
        folded: Counts of limits on tool calls, with the calls from code.
    """

    request: ModelRequest[Any]
    spending: Spending | None
    state: Mapping[str, Any]
    channels: Channels
    folded: Mapping[str, Any]

    def answered(
        self, response: ModelResponse[Any]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """The response, with the amounts drawn on budgets and limits by the end of the call."""
        update = dict(self.folded)
        if self.spending is not None:
            update |= self.spending.update(turn_key(self.state), self.state)
        if not update:
            return response
        command: Command[Any] = Command(update=self.channels.named(update))
        return ExtendedModelResponse(response, command)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Interpreter:
    """What the hooks of one middleware do.

    Attributes:
        evals: The evals, with the stack, the sessions and the stores that they use.
        surface: Tools and words by which the model uses the interpreter.
        own_names: Names of the interpreter's own tools, which its code cannot call.
        owned: Whether the stack is closed with the middleware.
        rules: Rules for calls from code, such as approvals.
        names: Names of tools in the arguments, to be checked against the agent's tools.
        background: The cells in the background, if evals may be suspended.
        servers: The MCP servers whose tools code may call, if there are any.
    """

    evals: Evals
    surface: Surface
    own_names: tuple[str, ...]
    owned: bool
    rules: AgentRules
    names: ToolNames
    background: Background | None = None
    servers: Servers | None = None

    def tools(self) -> list[BaseTool]:
        """The interpreter's own tools."""
        return [*self.surface.tools(self.evals, self.evals.stack.language), *self.evals.tools()]

    def view(self, state: Any) -> Mapping[str, Any]:
        """A graph's state with this interpreter's channels under their plain names."""
        return self.evals.channels.view(as_mapping(state))

    @contextmanager
    def model_call(self, request: ModelRequest[Any]) -> Iterator[ModelCall]:
        """Add the interpreter's prompt to a call of the model, and charge the turn for it."""
        calls = folded(request.state)
        if calls:  # another interpreter of the agent must not add them again
            request = request.override(state=cast("Any", {**request.state, **calls}))
        spending, state = self.evals.spending, self.view(request.state)
        drawing = nullcontext() if spending is None else spending.model_call(turn_key(state), state)
        with drawing:
            shown = self._with_blocks(self._with_tools(self._with_prompt(request, state)))
            yield ModelCall(shown, spending, state, self.evals.channels, calls)

    def _with_tools(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """A request with the tools that the model may call itself."""
        tools = request.tools
        if self.evals.options.tools_only:
            tools = [tool for tool in tools if _name_of(tool) in self.own_names]
        shown = self.surface.for_model(tools, request.model)
        return request if shown == request.tools else request.override(tools=shown)

    def _with_blocks(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """A request with the images and files of evals that its model takes, as it takes them."""
        names, sent = self.own_names, self.evals.options.attachments
        taken = for_model(request.messages, names, request.model, sent)
        given = request.messages if taken is None else taken
        messages = self.surface.messages(given, request.model)
        if messages is request.messages:
            return request
        return request.override(messages=list(messages))

    def direct_call(self, request: ToolCallRequest) -> ToolCallRequest | ToolMessage:
        """Check a call that the model makes itself, and ask for the approval that it needs.

        Returns:
            The call to make, as a person may have edited it, or the answer in its place.

        Raises:
            GraphInterrupt: The call waits for a decision.
            ConfigurationError: `interrupt_on` names a tool that the agent does not have.
        """
        call = request.tool_call
        made = running_native_call.get(None)
        if made is not None and made.id == call["id"]:
            return request  # code of another interpreter makes it
        if self.evals.options.tools_only:
            return ToolMessage(
                content=self.surface.refusal(self.evals.stack.language),
                tool_call_id=call["id"] or "",
                name=call["name"],
                status="error",
            )
        if self.rules.own.own is None:
            return request
        self.names.check(request.runtime.tools)  # the rule of a misspelt tool would not be asked
        approvals = self.rules.direct(request)
        if approvals is None:
            return request
        return DirectCall(request, approvals, self.own_names[0]).admitted()

    def _with_prompt(
        self, request: ModelRequest[Any], state: Mapping[str, Any]
    ) -> ModelRequest[Any]:
        self.names.see(request.tools)
        tools = [tool for tool in request.tools if isinstance(tool, BaseTool)]
        check_own(tools, self.own_names)
        self.evals.offered.note(owner_of(state), tools)
        return with_section(request, self.evals.offers.prompt(tools, stored=has_checkpointer()))

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
        calls = SiblingCalls.of(request)
        background, cell, make = self.background, None, None
        if background is not None:
            cell = background.record(request.tool_call, self.view(request.state))
            make = partial(background.store, cell, calls.name)
        graph = graph_run(request.runtime.config)
        store = self.evals.stores.open(request, calls.name, is_async, make)
        running = EvalCall(
            request,
            calls,
            run,
            self.rules.approvals(graph, stored=store is not None),
            store,
            tells_tools=self.evals.options.tool_events,
            raises=self.evals.options.tool_errors == "raise",
            cell=cell,
        )
        running.limits = self.rules.limits(graph, running)
        token = running_eval.set(running)
        try:
            with self.evals.queue.taking_part(calls):
                yield running
        finally:
            running_eval.reset(token)

    def begin_turn(self, state: Any) -> dict[str, Any]:
        """The update of the interpreter's channels with which a run of the agent begins.

        Raises:
            ConfigurationError: Calls need approvals, and the agent has no checkpointer.
        """
        self.rules.check_own(stored=has_checkpointer())
        return self.evals.channels.named(new_turn(self.view(state)))

    async def begin_shared_turn(
        self, state: Any, runtime: Runtime[Any], *, is_async: bool
    ) -> dict[str, Any]:
        """`begin_turn` of a mode whose variables conversations share.

        Raises:
            ConfigurationError: As `begin_turn`; or the agent has no store.
        """
        update, seen = self.begin_turn(state), self.view(state)
        turn = turn_of(self.evals.channels.view(update))
        shared = await self.evals.variables.take_shared(
            seen, SharedPlace.of(runtime, is_async), turn
        )
        return {**update, **self.evals.channels.named(shared)}

    async def end_turn(
        self, state: Any, runtime: Runtime[Any], *, is_async: bool
    ) -> dict[str, Any] | None:
        """Release the resources of this run of the agent, and give shared variables back.

        Returns:
            The update of the interpreter's channels; `None` if there is none.
        """
        state, context = self.view(state), None
        update: dict[str, Any] | None = None
        if self.evals.variables.shared:
            place = SharedPlace.of(runtime, is_async)
            update = self.evals.channels.named(await self.evals.variables.give_shared(state, place))
            context = place.context
        owner = owner_of(state)
        if self.evals.spending is not None:
            self.evals.spending.end(turn_key(state))
        over = passes(owner) or self.evals.mode.scope == PersistenceScope.TURN
        if self.background is not None and over:
            await self.background.cell_locks.stop_all(owner)
        await self.evals.sessions.end_turn(self.evals.variables.owner(state, context), close=over)
        return update

    async def aclose(self) -> None:
        """End the calls in flight of cells in the background; close sessions and connections."""
        if self.background is not None:
            await self.background.cell_locks.stop_all()
        await (self.evals.stack.aclose() if self.owned else self.evals.sessions.aclose())
        if self.servers is not None:
            await self.servers.close()


def _name_of(tool: Any) -> str:
    """Name of a tool of the model, which may be a provider's own tool."""
    return tool.name if isinstance(tool, BaseTool) else str(tool.get("name"))
