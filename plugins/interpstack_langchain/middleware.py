"""`CodeInterpreterMiddleware`: the usual stack for an agent, in one import."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from types import MethodType
from typing import Any, Literal, Self

from langchain.agents.middleware.types import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import TracePolicy, omit_payload

from interpstack import (
    Bridge,
    Engine,
    InterpreterStack,
    call_blocking,
    run_sync,
)
from interpstack_accounts.api import Budget
from interpstack_agents import Preset
from interpstack_files.api import Files
from interpstack_handles.api import Handles
from interpstack_langchain.assembly import assembled
from interpstack_langchain.durability.spending import CostOf
from interpstack_langchain.evals.eval_call import EvalCall
from interpstack_langchain.evals.surface import Surface
from interpstack_langchain.langgraph_internals.tool_chains import whole_chain
from interpstack_langchain.langgraph_internals.untraced_hooks import run_untraced_hooks_in_place
from interpstack_langchain.options import BackgroundOptions, Options, PTCOption
from interpstack_langchain.rules.approval_rules import ApprovalRules
from interpstack_langchain.rules.direct_calls import with_made_call
from interpstack_langchain.stacks import PRESET, StackArguments
from interpstack_langchain.state.graph_state import InterpreterState
from interpstack_langchain.tools.native_calls import running_native_call
from interpstack_langchain.tools.wrapped_tools import with_native_tool
from interpstack_learned import LearnedTypes

__all__ = ["CodeInterpreterMiddleware", "REPLMiddleware"]


class CodeInterpreterMiddleware(AgentMiddleware[InterpreterState, Any, Any]):
    """Middleware that gives an agent a tool for running code, which can call the agent's own tools.

    ```python
    interpreter = CodeInterpreterMiddleware(ptc=["search"])
    agent = create_agent(model, tools=[search], middleware=[interpreter])
    ```

    Args:
        memory_limit: Bytes of guest memory, at least 4 MiB.
        timeout: Seconds an eval may compute; waiting for tools is not counted. `None`: no limit.
        wall_timeout: Seconds an eval may take in all. `None`: no limit.
        max_ptc_calls: Calls of tools one eval may make; `task()` is not counted. `None`: no limit.
        tool_name: Name of the tool.
        max_result_chars: Characters shown of the result, and of the console output.
        capture_console: Whether code has a `console`, whose output is returned.
        subagents: Whether code has `task()` when the agent has subagents.
        max_subagent_concurrency: Subagents of one eval that may run at once.
        ptc: Names of the agent's tools, and tools of your own, that code may call as
            `tools.<camelCase>(input)`, or `tools.<name>(field=…)` in Python.
        mode: How long variables live: `thread`, `turn` or `call`; `None` is `thread`.
        max_snapshot_bytes: Largest state that is stored. `None`: `memory_limit`.
        snapshot_signing_key: Key that signs stored states; unsigned or changed ones are refused.
        engine: Name of an installed engine, or an engine.
        preset: The plugins of the stack, a change of `interpstack_langchain.PRESET`, such as
            `PRESET.without("skills").replace("ptc", "my-ptc")`.
        plugins: More plugins for the stack, called after the plugins of the preset.
        interrupt_on: Calls that need an approval, of code and of the model itself, by name of the
            tool (`task` for subagents): `True`, `False`, or an `InterruptOnConfig`, as
            `HumanInTheLoopMiddleware` takes them.
        skills_backend: The backend in which `import("@/skills/…")` finds skills.
        budget: Limits on the total use of all evals of a turn, with the subagents they dispatch.
        cost_of: Returns the cost of a model's message, for `Budget.cost`; by default, the cost that
            the model reports in the message's `usage_metadata` or `response_metadata`.
        durable: Whether evals are recorded while they run, where the agent has a checkpointer.
            Without it, an eval that was interrupted runs again from its start, calls included.
        tool_events: Whether the start and end of tool calls are reported on the graph's custom
            stream; subagents are always reported.
        pause_grace: Seconds that a pausing eval waits for its other calls; calls that take longer
            are left running.
        lock_timeout: Seconds that an eval waits for another process that runs the same eval.
            `None`: no limit.
        tool_errors: The treatment of a tool's exception that code does not catch: `tell` the model,
            or `raise` it out of the eval, as it leaves a call by the model.
        unhandled: The treatment of calls that fail, and of promises that are rejected, without that
            the code awaits or handles it: `tell` the model, with the status `error`; `raise` the
            first as the error of the eval; or `ignore` them.
        check: What is checked before anything of the code runs: `names` refuses calls of tools that
            cannot succeed, such as unknown tools and wrong literal arguments; `types` finds wrong
            types of values, too (extra `check`); `off` checks nothing.
        late_tools: Names in `ptc` and `interrupt_on` of tools that the agent gets in a later turn.
            All other names must be those of tools that the agent has when code runs.
        tools_only: Whether the model sees only the interpreter's own tool. The agent's other tools
            are left to code, which may call all of them unless `ptc` lists some.
        attachments: Which of the images and files that code shows reach the model: `auto` for
            those that the model's profile accepts; `always` for all; `never` for a notice in
            place of each.
        background: Whether an eval that waits long for its calls is suspended, and continued or
            ended by two more tools; `BackgroundOptions` sets the seconds and the tools' names.
        files: What code may do with the files of a deep agent, as `files.read(path)` and the like:
            `read-only`, `read-write`, or nothing for `False`. An `interpstack_files.api.Files` has
            files of another place, such as a directory.
        handles: Whether values may stay with the host, as `await keep(value, name)` leaves them
            there. An `interpstack_handles.api.Handles` sets more, such as `handle_bytes`, above
            which a tool's answer stays; by default, answers reach code whole, as with the peer.
        learn_types: Whether signatures show what tools without a return type have answered: the URL
            of a store of such types, `True` for the one in `INTERPSTACK_TYPES`, or an
            `interpstack_learned.LearnedTypes`.
        value_bytes: Bytes of one value that crosses, in either direction.
        timers: Timers that may be open at once.
        concurrency: Calls of one eval that may run at once; the rest wait in order.
        console_chars: Characters of console output that are shown at most. `None`:
            `max_result_chars`.
        bridges: Functions of your own, made with `@bridge`, that code may call.
        mcp: MCP servers whose tools code may call as `mcp.<server>.<tool>(input)`: the path of a
            JSON file with `mcpServers`, its content, or `interpstack_mcp.api.McpServers`. In
            `interrupt_on`, their tools are `mcp.<server>.<tool>`, as the server names them.
        options: Keyword arguments for the engine's class, where `engine` is a name.
        stack: A ready stack in place of one made from the arguments that it covers: the engine,
            plugins, bridges and limits. You close it yourself.

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
        lock_timeout: float | None = None,
        tool_errors: Literal["tell", "raise"] = "tell",
        unhandled: Literal["tell", "raise", "ignore"] = "tell",
        check: Literal["names", "types", "off"] = "names",
        late_tools: Collection[str] = (),
        tools_only: bool = False,
        attachments: Literal["auto", "always", "never"] = "auto",
        background: bool | BackgroundOptions = False,
        files: Literal["read-only", "read-write"] | bool | Files | None = "read-only",
        handles: bool | Handles | None = False,
        learn_types: bool | str | LearnedTypes | None = False,
        value_bytes: int = 16 * 2**20,
        timers: int = 1000,
        concurrency: int = 128,
        console_chars: int | None = None,
        bridges: Sequence[Bridge] = (),
        mcp: Any = None,
        options: Mapping[str, Any] | None = None,
        stack: InterpreterStack | None = None,
    ) -> None:
        super().__init__()
        run_untraced_hooks_in_place()
        self._interpreter = assembled(
            Options(
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
                lock_timeout=lock_timeout,
                tool_errors=tool_errors,
                unhandled=unhandled,
                check=check,
                background=background,
                tools_only=tools_only,
                every_tool=ptc is None,
                attachments=attachments,
                files=files,
                handles=handles,
                learn_types=learn_types,
                value_bytes=value_bytes,
                timers=timers,
                concurrency=concurrency,
                console_chars=console_chars,
            ),
            StackArguments(
                stack=stack,
                engine=engine,
                preset=preset,
                plugins=plugins,
                bridges=bridges,
                mcp=mcp,
                options=options,
            ),
            self.surface(tool_name),
            interrupt_on=interrupt_on,
            late_tools=late_tools,
            skills_backend=skills_backend,
            budget=budget,
            cost_of=cost_of,
        )
        self.state_schema = self._interpreter.evals.channels.schema
        self.tools = self._interpreter.tools()

    def surface(self, tool_name: str) -> Surface:
        """Make the tools and words by which the model uses the interpreter; subclasses have others.

        Args:
            tool_name: Name of the tool that takes the code.
        """
        return Surface(tool_name)

    @property
    def options(self) -> Options:
        """The arguments, checked, as the stack fulfils them."""
        return self._interpreter.evals.options

    @property
    def stack(self) -> InterpreterStack:
        """The stack that runs the code."""
        return self._interpreter.evals.stack

    @property
    def approval_rules(self) -> ApprovalRules:
        """The rules of `interrupt_on`, which hold for the agent's other interpreters, too."""
        return self._interpreter.rules.own

    @property
    def name(self) -> str:
        """The name of the middleware, unique among the middleware of an agent."""
        return f"{type(self).__name__}{self._interpreter.evals.channels.suffix}"

    # -- life ------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Close the interpreter: its sessions, after the evals that run, and its engine.

        A ready stack stays open.
        """
        await self._interpreter.aclose()

    def close(self) -> None:
        """`aclose` for synchronous callers.

        Raises:
            ConfigurationError: An eval runs on the event loop of this very thread.
        """
        run_sync(self._interpreter.aclose())

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
        if self._interpreter.evals.variables.shared:
            beginning = self._interpreter.begin_shared_turn(state, runtime, is_async=False)
            return run_sync(beginning)
        return self._interpreter.begin_turn(state)

    async def abefore_agent(self, state: InterpreterState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Start a turn."""
        # Not by `before_agent`: a subclass may have both hooks.
        if self._interpreter.evals.variables.shared:
            return await self._interpreter.begin_shared_turn(state, runtime, is_async=True)
        return self._interpreter.begin_turn(state)

    def after_agent(self, state: InterpreterState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """End a turn."""
        return run_sync(self._interpreter.end_turn(state, runtime, is_async=False))

    async def aafter_agent(
        self, state: InterpreterState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """End a turn."""
        return await self._interpreter.end_turn(state, runtime, is_async=True)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Add the interpreter and the functions for its code to the model's prompt."""
        with self._interpreter.model_call(request) as call:
            response = handler(call.request)
        return call.answered(response)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Add the interpreter and the functions for its code to the model's prompt."""
        with self._interpreter.model_call(request) as call:
            response = await handler(call.request)
        return call.answered(response)

    # -- the tool's side -------------------------------------------------------------------

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Any:
        """Run an eval with the agent's way of running tool calls, and pass on other calls."""
        if request.tool_call["name"] not in self._interpreter.own_names:
            made = self._interpreter.direct_call(request)
            return (
                made
                if isinstance(made, ToolMessage)
                else with_made_call(handler(made), made, request)
            )

        own = MethodType(CodeInterpreterMiddleware.wrap_tool_call, self)
        whole = whole_chain(handler, own, with_native_tool, is_async=False)

        async def run(inner: ToolCallRequest) -> Any:
            # Its thread cannot be stopped, so its effects count although the eval is cancelled.
            call = running_native_call.get()
            return await call_blocking(lambda: whole(inner), outlasts=call.outlasts)

        with self._interpreter.eval_call(request, run, is_async=False) as running:
            return _beside(handler(request), running)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Run an eval with the agent's way of running tool calls, and pass on other calls."""
        if request.tool_call["name"] not in self._interpreter.own_names:
            made = self._interpreter.direct_call(request)
            if isinstance(made, ToolMessage):
                return made
            return with_made_call(await handler(made), made, request)

        own = MethodType(CodeInterpreterMiddleware.awrap_tool_call, self)
        whole = whole_chain(handler, own, with_native_tool, is_async=True)
        with self._interpreter.eval_call(request, whole, is_async=True) as running:
            return _beside(await handler(request), running)


class REPLMiddleware(CodeInterpreterMiddleware):
    """An older name of `CodeInterpreterMiddleware`, from langchain-quickjs 0.1.0."""


def _beside(answer: Any, running: EvalCall) -> Any:
    """An eval's answer, with the commands that leave beside it."""
    return [answer, *running.leaving] if running.leaving else answer
