"""`CodeInterpreterMiddleware`: the usual stack for an agent, in one import."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Self

from langchain.agents.middleware.types import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command, TracePolicy, omit_payload

from interpstack import (
    Bridge,
    ConfigurationError,
    Engine,
    InterpreterStack,
    call_blocking,
    run_sync,
)
from interpstack_accounts.api import Budget
from interpstack_agents import LiveSessions, Persistence, Preset
from interpstack_langchain.durability.checkpoint_stores import CheckpointStores
from interpstack_langchain.durability.spending import CostOf, Spending
from interpstack_langchain.evals.eval_queue import CallQueue
from interpstack_langchain.evals.eval_runner import Evals
from interpstack_langchain.evals.eval_tool import EvalTool
from interpstack_langchain.options import Options, PTCOption
from interpstack_langchain.prompt import tool_description
from interpstack_langchain.stacks import PRESET, StackArguments
from interpstack_langchain.state.channels import Channels
from interpstack_langchain.state.graph_state import InterpreterState, new_turn
from interpstack_langchain.state.modes import mode_of
from interpstack_langchain.state.owners import as_mapping, owner_of, passes, turn_key
from interpstack_langchain.tools.approvals import Approvals
from interpstack_langchain.tools.backend_skills import BackendSkills
from interpstack_langchain.tools.finishing import FINISH_SECONDS
from interpstack_langchain.tools.offer_builder import AgentOffers, OfferedTools
from interpstack_langchain.tools.tool_calls import EvalCall, running_eval
from interpstack_langchain.tools.tool_names import ToolNames

__all__ = ["CodeInterpreterMiddleware", "REPLMiddleware"]


class CodeInterpreterMiddleware(AgentMiddleware[InterpreterState, Any, Any]):
    """Gives an agent a tool that runs code, with the agent's own tools in it.

    ```python
    interpreter = CodeInterpreterMiddleware(ptc=["search"])
    agent = create_agent(model, tools=[search], middleware=[interpreter])
    ```

    Args:
        memory_limit: Bytes of guest memory, at least 4 MiB.
        timeout: Seconds an eval may compute; waiting for tools is not counted. `None`: no limit.
        wall_timeout: Seconds an eval may take in all. `None`: no limit.
        max_ptc_calls: Calls of tools and subagents one eval may make. `None`: no limit.
        tool_name: Name of the tool.
        max_result_chars: Characters shown of the result, and of the console output.
        capture_console: Whether code has a `console`, whose output is returned.
        subagents: Whether code has `task()` when the agent has subagents.
        max_subagent_concurrency: Subagents of one eval that run at once.
        ptc: Names of the agent's tools, and tools of your own, that code may call as
            `tools.<camelCase>(input)`, or `tools.<name>(field=…)` in Python.
        mode: How long variables live: `thread`, `turn` or `call`; `None` is `thread`.
        max_snapshot_bytes: Largest state that is stored. `None`: `memory_limit`.
        snapshot_signing_key: Signs stored states; unsigned or changed ones are refused.
        engine: Name of an installed engine, or an engine.
        preset: The plugins of the stack, a change of `interpstack_langchain.PRESET`, such as
            `PRESET.without("skills").replace("ptc", "my-ptc")`.
        plugins: More plugins for the stack, called after those of the preset.
        interrupt_on: Calls from code that need an approval, by name of the tool, `task` for
            subagents: `True`, `False`, or an `InterruptOnConfig`, as
            `HumanInTheLoopMiddleware` takes them.
        skills_backend: Where `import("@/skills/…")` finds skills.
        budget: What all evals of a turn may use together, with the subagents they dispatch.
        cost_of: The cost of a model's message, for `Budget.cost`; without it, what the
            message's `response_metadata` reports as `cost`.
        durable: Whether evals are recorded while they run, where the agent has a checkpointer.
            Without it, an eval that was interrupted runs again from its start, calls included.
        tool_events: Whether start and end of calls of tools are told on the graph's custom
            stream; those of subagents always are.
        pause_grace: Seconds that an eval which must wait for somebody waits for its other calls
            first; what still runs then is left alone.
        tool_errors: What becomes of a tool's exception that code does not catch: `tell` the model,
            or `raise` it out of the eval, as it leaves a call by the model.
        late_tools: Names in `ptc` and `interrupt_on` of tools that the agent gets in a later turn.
            All others must be names of its tools when it runs code.
        value_bytes: Bytes of one value that crosses, in either direction.
        timers: Timers that may be open at once.
        concurrency: Calls of one eval that may run at once; the rest wait in order.
        console_chars: Characters of console output that are kept and shown. `None`:
            `max_result_chars`.
        bridges: Functions of your own, made with `@bridge`, that code may call.
        options: Keyword arguments for the engine's class, where `engine` is a name.
        stack: A ready stack in place of one made from the arguments that it covers: the engine,
            plugins, bridges and limits. It stays yours to close.

    Raises:
        ConfigurationError: An argument has a wrong value; it is also a `ValueError`.
        TypeError: An argument is of a wrong type.
    """

    state_schema = InterpreterState
    #: Spans of the hooks leave the state out, which holds the interpreter's memory.
    trace_policy = TracePolicy(process_inputs=omit_payload)

    def __init__(
        self,
        *,
        memory_limit: int = 64 * 2**20,
        timeout: float | None = 5.0,
        wall_timeout: float | None = 600.0,
        max_ptc_calls: int | None = 256,
        tool_name: str = "eval",
        max_result_chars: int = 4000,
        capture_console: bool = True,
        subagents: bool = True,
        max_subagent_concurrency: int = 32,
        ptc: PTCOption | None = None,
        mode: str | None = "thread",
        max_snapshot_bytes: int | None = None,
        snapshot_signing_key: str | bytes | None = None,
        engine: str | Engine = "quickjs",
        preset: Preset = PRESET,
        plugins: Sequence[Any] = (),
        interrupt_on: Any = None,
        skills_backend: Any = None,
        budget: Budget | None = None,
        cost_of: CostOf | None = None,
        durable: bool = True,
        tool_events: bool = True,
        pause_grace: float = 5.0,
        tool_errors: Literal["tell", "raise"] = "tell",
        late_tools: Collection[str] = (),
        value_bytes: int = 16 * 2**20,
        timers: int = 1000,
        concurrency: int = 128,
        console_chars: int | None = None,
        bridges: Sequence[Bridge] = (),
        options: Mapping[str, Any] | None = None,
        stack: InterpreterStack | None = None,
    ) -> None:
        super().__init__()
        self.options = Options(
            memory_limit=memory_limit,
            timeout=timeout,
            wall_timeout=wall_timeout,
            max_ptc_calls=max_ptc_calls,
            tool_name=tool_name,
            max_result_chars=max_result_chars,
            capture_console=capture_console,
            subagents=subagents,
            max_subagent_concurrency=max_subagent_concurrency,
            ptc=ptc,
            mode=mode,
            max_snapshot_bytes=max_snapshot_bytes,
            snapshot_signing_key=snapshot_signing_key,
            durable=durable,
            tool_events=tool_events,
            pause_grace=pause_grace,
            tool_errors=tool_errors,
            value_bytes=value_bytes,
            timers=timers,
            concurrency=concurrency,
            console_chars=console_chars,
        )
        self._spending = Spending.of(budget, cost_of)
        self._approvals = Approvals.of(interrupt_on)
        self._names = ToolNames.of(self.options.ptc, interrupt_on, late_tools)
        self._ledgers = CheckpointStores(_as_bytes(snapshot_signing_key), pause_grace)
        given = StackArguments(
            stack=stack,
            engine=engine,
            preset=preset,
            plugins=plugins,
            bridges=bridges,
            options=options,
        )
        has_skills = skills_backend is not None
        if stack is not None:
            self.options = given.adopt(
                stack,
                self.options,
                skills=has_skills,
                budget=budget is not None,
            )
        self.stack = given.make(self.options) if stack is None else stack
        if stack is None:
            self.options = given.settle(
                self.stack, self.options, skills=has_skills, budget=budget is not None
            )
        self._owns_stack = stack is None
        if self._approvals is not None and not self.options.durable:
            raise ConfigurationError(
                "interrupt_on needs durable=True and a plugin that records evals, as 'durable' "
                "does: without a record, calls that were approved would be made again"
            )
        self._mode = self._make_mode()
        # Others that use a ready stack must not get the sessions of this middleware.
        keys = "" if self._owns_stack else f"{secrets.token_hex(8)}|"
        self._sessions = LiveSessions(self.stack, self._mode, keys)
        self._offered = OfferedTools()
        self._queue = CallQueue(tool_name)
        skills = (
            None
            if skills_backend is None
            else BackendSkills(skills_backend, self.stack.language.module_endings)
        )
        self._offers = AgentOffers(self.stack, self.options, self._mode.scope, skills)
        self._channels = Channels.of(tool_name)
        self.state_schema = self._channels.schema
        self.tools = [self._tool()]

    def _make_mode(self) -> Persistence:
        options = self.options
        most = options.max_snapshot_bytes
        return mode_of(self.stack, options.mode)(
            max_bytes=options.memory_limit if most is None else most,
            signing_key=_as_bytes(options.snapshot_signing_key),
        )

    def _tool(self) -> EvalTool:
        evals = Evals(
            options=self.options,
            stack=self.stack,
            mode=self._mode,
            sessions=self._sessions,
            offered=self._offered,
            ledgers=self._ledgers,
            queue=self._queue,
            offers=self._offers,
            channels=self._channels,
            spending=self._spending,
        )
        language = self.stack.language
        described = tool_description(self._mode.scope, language)
        return EvalTool.make(self.options.tool_name, described, evals.run, language)

    @property
    def name(self) -> str:
        """Of the middleware among those of an agent: each interpreter has its own."""
        kind = type(self).__name__
        return f"{kind}{self._channels.suffix}"

    # -- life ------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Close the interpreter: its sessions, after the evals that run, and its engine.

        A ready stack stays open.
        """
        await (self.stack.aclose() if self._owns_stack else self._sessions.aclose())

    def close(self) -> None:
        """`aclose` for synchronous callers.

        Raises:
            ConfigurationError: An eval runs on the event loop of this very thread.
        """
        if self._owns_stack:
            self.stack.close()
        else:
            run_sync(self._sessions.aclose())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    # -- the model's side ------------------------------------------------------------------

    def before_agent(self, state: InterpreterState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Start a turn."""
        return self._channels.named(new_turn(self._view(state)))

    async def abefore_agent(self, state: InterpreterState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Start a turn."""
        return self.before_agent(state, runtime)

    def after_agent(self, state: InterpreterState, runtime: Runtime[Any]) -> None:
        """End a turn."""
        run_sync(self._end_turn(state))

    async def aafter_agent(self, state: InterpreterState, runtime: Runtime[Any]) -> None:
        """End a turn."""
        await self._end_turn(state)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Tell the model of the interpreter and of what its code may call."""
        spending, state = self._spending, self._view(request.state)
        if spending is None:
            return handler(self._with_prompt(request))
        turn = turn_key(state)
        with spending.model_call(turn, state):
            response = handler(self._with_prompt(request))
        return self._with_drawn(response, spending.told(turn, state))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Tell the model of the interpreter and of what its code may call."""
        spending, state = self._spending, self._view(request.state)
        if spending is None:
            return await handler(self._with_prompt(request))
        turn = turn_key(state)
        with spending.model_call(turn, state):
            response = await handler(self._with_prompt(request))
        return self._with_drawn(response, spending.told(turn, state))

    def _with_drawn(
        self, response: ModelResponse[Any], told: Mapping[str, Any]
    ) -> ExtendedModelResponse[Any]:
        command: Command[Any] = Command(update=self._channels.named(told))
        return ExtendedModelResponse(response, command)

    def _with_prompt(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        self._names.see(request.tools)
        tools = [tool for tool in request.tools if isinstance(tool, BaseTool)]
        self._offered.note(owner_of(self._view(request.state)), tools)
        text = self._offers.prompt(tools)
        before = request.system_message
        if before is None:
            message = SystemMessage(content=text)
        elif isinstance(before.content, str):
            message = SystemMessage(content=f"{before.content}\n\n{text}")
        else:
            message = SystemMessage(content=[*before.content, {"type": "text", "text": text}])
        return request.override(system_message=message)

    # -- the tool's side -------------------------------------------------------------------

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Any:
        """Lend an eval the way to run tool calls."""
        if request.tool_call["name"] != self.options.tool_name:
            return handler(request)

        async def run(inner: ToolCallRequest) -> Any:
            # Nothing stops its thread, so what it does counts although the eval is cancelled.
            return await call_blocking(lambda: handler(inner), outlasts=lambda: FINISH_SECONDS)

        running = self._eval_call(request, run, is_async=False)
        token = running_eval.set(running)
        try:
            with self._queue.taking_part(request):
                return _beside(handler(request), running)
        finally:
            running_eval.reset(token)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Lend an eval the way to run tool calls."""
        if request.tool_call["name"] != self.options.tool_name:
            return await handler(request)
        running = self._eval_call(request, handler, is_async=True)
        token = running_eval.set(running)
        try:
            with self._queue.taking_part(request):
                return _beside(await handler(request), running)
        finally:
            running_eval.reset(token)

    def _eval_call(self, request: ToolCallRequest, run: Any, *, is_async: bool) -> EvalCall:
        self._names.check(request.runtime.tools)
        store = self._ledgers.open(request, is_async)
        options = self.options
        return EvalCall(
            request,
            run,
            self._approvals,
            store,
            tells_tools=options.tool_events,
            raises=options.tool_errors == "raise",
        )

    async def _end_turn(self, state: Any) -> None:
        state = self._view(state)
        owner = owner_of(state)
        if self._spending is not None:
            self._spending.end(turn_key(state))
        await self._sessions.end_turn(owner, close=passes(owner) or self._mode.scope == "turn")

    def _view(self, state: Any) -> Mapping[str, Any]:
        return self._channels.view(as_mapping(state))


class REPLMiddleware(CodeInterpreterMiddleware):
    """The name `CodeInterpreterMiddleware` had in the first release of the peer."""


def _beside(answer: Any, running: EvalCall) -> Any:
    """An eval's answer, with what has to leave beside it."""
    return [answer, *running.leaving] if running.leaving else answer


def _as_bytes(key: str | bytes | None) -> bytes | None:
    return key.encode() if isinstance(key, str) else key
