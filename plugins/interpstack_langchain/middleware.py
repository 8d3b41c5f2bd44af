"""`CodeInterpreterMiddleware`: the usual stack for an agent, in one import."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Self

import attrs
from langchain.agents.middleware.types import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import SystemMessage, ToolMessage
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import TracePolicy, omit_payload

from interpstack import (
    Budget,
    Cell,
    ConfigurationError,
    Engine,
    GuestError,
    InterpreterStack,
    InterpstackError,
    Outcome,
    Turn,
    UnreadableLedger,
    call_blocking,
    render,
    run_sync,
)
from interpstack_langchain import plugin
from interpstack_langchain.approvals import Approvals
from interpstack_langchain.call_names import unique_names
from interpstack_langchain.commands import commit
from interpstack_langchain.evaluation import EvalTool
from interpstack_langchain.finishing import FINISH_SECONDS
from interpstack_langchain.inner import EvalCall, running_eval
from interpstack_langchain.ledgers import Ledgers
from interpstack_langchain.offers import Offers
from interpstack_langchain.options import Options, PTCOption, check_plugins
from interpstack_langchain.order import CallOrder, Place
from interpstack_langchain.prompt import tool_description
from interpstack_langchain.skills import BackendSkills
from interpstack_langchain.spending import CostOf, Spending
from interpstack_langchain.state import InterpreterState, Sessions, new_turn, turn_of, with_writes
from interpstack_langchain.tool_errors import shown
from interpstack_langchain.tool_names import ToolNames

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
        plugins: More plugins for the stack, called after the preset's own.
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
        plugins: Sequence[Any] = (),
        interrupt_on: Any = None,
        skills_backend: Any = None,
        budget: Budget | None = None,
        cost_of: CostOf | None = None,
        durable: bool = True,
        tool_events: bool = True,
        pause_grace: float = 5.0,
        tool_errors: str = "tell",
        late_tools: Collection[str] = (),
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
        )
        self._spending = Spending.of(budget, cost_of)
        self._approvals = Approvals.of(interrupt_on)
        self._names = ToolNames.of(self.options.ptc, interrupt_on, late_tools)
        if self._approvals is not None and not durable:
            raise ConfigurationError(
                "interrupt_on needs durable=True: without a record, calls that were approved "
                "would be made again"
            )
        self._ledgers = Ledgers(_as_bytes(snapshot_signing_key), pause_grace)
        own = [
            plugin,
            "persistence",
            *(["durable"] if durable else []),
            *(["console"] if capture_console else []),
            "ptc",
            "subagents",
            "skills",
        ]
        self.stack = InterpreterStack(
            engine, [*own, *check_plugins(plugins)], limits=self.options.limits()
        )
        mode_class = self.stack.persistence(self.options.mode)
        self._mode = mode_class(
            max_bytes=memory_limit if max_snapshot_bytes is None else max_snapshot_bytes,
            signing_key=_as_bytes(snapshot_signing_key),
        )
        self._sessions = Sessions(self.stack, self._mode)
        self._order = CallOrder(tool_name)
        skills = None if skills_backend is None else BackendSkills(skills_backend)
        self._offers = Offers(self.stack, self.options, self._mode.scope, skills)
        language = self.stack.engine.language
        described = tool_description(self._mode.scope, language)
        self.tools = [EvalTool.make(tool_name, described, self._evaluate, language)]

    # -- life ------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Close the interpreter: its sessions, after the evals that run, and its engine."""
        await self.stack.aclose()

    def close(self) -> None:
        """`aclose` for synchronous callers.

        Raises:
            ConfigurationError: An eval runs on the event loop of this very thread.
        """
        self.stack.close()

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
        return new_turn(state)

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
        spending, state = self._spending, _mapping(request.state)
        if spending is None:
            return handler(self._with_prompt(request))
        turn = self._turn_key(state)
        with spending.model_call(turn, state):
            response = handler(self._with_prompt(request))
        return spending.told_with(response, turn, state)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Tell the model of the interpreter and of what its code may call."""
        spending, state = self._spending, _mapping(request.state)
        if spending is None:
            return await handler(self._with_prompt(request))
        turn = self._turn_key(state)
        with spending.model_call(turn, state):
            response = await handler(self._with_prompt(request))
        return spending.told_with(response, turn, state)

    def _with_prompt(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        self._names.see(request.tools)
        tools = [tool for tool in request.tools if isinstance(tool, BaseTool)]
        self._sessions.offer(self._owner(request.state), tools)
        text = self.stack.prompt(self._offers.turn(tools))
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
            with self._order.taking_part(request):
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
            with self._order.taking_part(request):
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

    async def _evaluate(self, code: str, running: EvalCall) -> ToolMessage:
        state, done = _mapping(running.request.state), list[str]()
        running_eval.set(running)
        if running.store is not None:
            state, ended = with_writes(state, await running.store.step_writes())
            done = unique_names(ended)  # of two calls with one id, the first runs first
        if self._spending is None:
            return self._answer(*await self._run(code, running, state, done), running)
        turn = self._turn_key(state)
        with self._spending.eval(turn, state) as reports:
            running.callbacks = reports.among(running.callbacks)
            outcome, update = await self._run(code, running, state, done)
        return self._answer(outcome, {**update, **self._spending.told(turn, state)}, running)

    async def _run(
        self, code: str, running: EvalCall, state: Mapping[str, Any], done: Collection[str]
    ) -> tuple[Outcome, dict[str, Any]]:
        request = running.request
        offered = self._sessions.offered(self._owner(state))
        turn = self._offers.turn(request.runtime.tools if offered is None else offered)
        if running.store is not None:
            bridges = self.stack.bridge_set(turn)
            seen = [bridge for bridge in bridges if bridge.awaited and not bridge.hidden]
            running.store.offered = {bridge.name: bridge.listed for bridge in seen}
        update: dict[str, Any] = {}
        try:
            if self._mode.scope == "call":
                async with self._ledgers.alone(running.store), self.stack.session() as session:
                    session.bind(turn)
                    outcome = await session.eval(Cell(source=code))
            else:
                place = await self._order.wait(request, done)
                # Where evals are durable, those of a turn may be spread over processes.
                keeps = self._mode.stores or running.store is not None
                outcome, update = await self._eval_in_turn(code, turn, state, place, keeps, running)
        except UnreadableLedger:
            raise  # what waits must not be answered
        except InterpstackError as error:
            outcome = Outcome(error=GuestError(type(error).__name__, str(error)))
        await running.leave(outcome)
        return outcome, update

    async def _eval_in_turn(
        self,
        code: str,
        turn: Turn,
        state: Mapping[str, Any],
        place: Place | None,
        keeps: bool,
        running: EvalCall,
    ) -> tuple[Outcome, dict[str, Any]]:
        owner = self._owner(state)
        async with (
            self._sessions.enter(owner, state, place, turn, keeps) as known,
            known.session as session,
        ):
            if not keeps or known.detached:
                return await session.eval(Cell(source=code)), {}
            outcome, kept = await session.eval_with_state(
                Cell(source=code), wants_values=self._mode.wants_values
            )
            if running.failure(outcome) is not None:
                known.spoiled = True  # it may run again, from the state before it
                return outcome, {}
            if kept is None or (outcome.error and outcome.error.name == "EngineFailure"):
                known.spoiled = True
                return _undone(outcome), {}
            sequence = known.sequence + 1
            # It compresses and signs, for some milliseconds or more.
            dump = partial(self._mode.dump, kept, owner, sequence, known.records or ())
            record, notice = await call_blocking(dump)
            record = {**record, "id": secrets.token_hex(8)}
            if not self._mode.stores:
                record["turn"] = turn_of(state)
            known.advance(record, place)
            if notice and not known.warned:
                outcome = attrs.evolve(outcome, notices=(*outcome.notices, notice))
            known.warned = bool(notice)
        mark = f"{turn_of(state)}:{sequence}"
        return outcome, {"interpreter_record": [record], "interpreter_turn": mark}

    def _answer(
        self, outcome: Outcome, update: Mapping[str, Any], running: EvalCall
    ) -> ToolMessage:
        chars = self.options.max_result_chars
        message = ToolMessage(
            content=render(shown(outcome), result_chars=chars, console_chars=chars),
            tool_call_id=running.id,
            name=self.options.tool_name,
            status="success" if outcome.ok else "error",
        )
        commit(message, update, running)
        return message

    # -- whose variables -------------------------------------------------------------------

    def _owner(self, state: Any) -> str:
        """Which conversation this is: the thread, and the subgraph in it."""
        thread = _configurable().get("thread_id")
        if thread is None:
            return f"run:{turn_of(state)}"
        return f"thread:{thread}|{_subgraph()}"

    def _turn_key(self, state: Mapping[str, Any]) -> str:
        """Identifies the turn among all turns."""
        return f"{self._owner(state)}|{turn_of(state)}"

    async def _end_turn(self, state: Any) -> None:
        owner = self._owner(state)
        if self._spending is not None:
            self._spending.end(self._turn_key(_mapping(state)))
        # A subgraph without a state of its own has the task that runs it in its name.
        passing = ":" in _subgraph() or owner.startswith("run:")
        await self._sessions.end_turn(owner, close=passing or self._mode.scope == "turn")


class REPLMiddleware(CodeInterpreterMiddleware):
    """The name `CodeInterpreterMiddleware` had in the first release of the peer."""


def _subgraph() -> str:
    """The graph that runs now, as a checkpoint namespace; empty for the outermost."""
    namespace = str(_configurable().get("checkpoint_ns", ""))
    # The last part names the node of this very step; what is before it, the graph.
    return namespace.rpartition("|")[0]


def _configurable() -> Mapping[str, Any]:
    """That of the running graph; empty where none runs."""
    config = var_child_runnable_config.get() or {}
    return config.get("configurable") or {}


def _beside(answer: Any, running: EvalCall) -> Any:
    """An eval's answer, with what has to leave beside it."""
    return [answer, *running.leaving] if running.leaving else answer


def _mapping(state: Any) -> Mapping[str, Any]:
    """A graph's state; empty where it is another kind of object."""
    return state if isinstance(state, Mapping) else {}


def _undone(outcome: Outcome) -> Outcome:
    """An outcome that tells what became of the variables when the engine broke."""
    error = outcome.error
    if error is None or error.name != "EngineFailure":
        notice = "Variables are as they were before this call."
        return attrs.evolve(outcome, notices=(*outcome.notices, notice))
    cause = error.message.partition(";")[0]
    message = f"{cause}; variables are as they were before this call"
    return attrs.evolve(outcome, error=attrs.evolve(error, message=message))


def _as_bytes(key: str | bytes | None) -> bytes | None:
    return key.encode() if isinstance(key, str) else key
