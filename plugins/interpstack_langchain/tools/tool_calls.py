"""Inner calls: tools of the agent, called from code as if the model had called them.

The middleware's `wrap_tool_call` gets a handler that runs any tool call through the agent's own
`ToolNode`, with the middleware behind this one around it. An eval keeps that handler and gives
it the calls its code makes, so argument validation, injected state, store and runtime, error
handling and `wrap_tool_call` are exactly those of a call by the model.
"""

from __future__ import annotations

import dataclasses
import logging
import reprlib
import time
from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from hashlib import blake2b
from typing import Any, Final, TypeVar

import attrs
from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from interpstack import (
    CellContext,
    GuestException,
    HostTool,
    Outcome,
    ReplayDivergence,
    UnreadableLedger,
)
from interpstack_durable.api import journal_of
from interpstack_langchain.durability.checkpoint_stores import CheckpointStore
from interpstack_langchain.evals.call_names import call_name
from interpstack_langchain.state.not_restored import StateNotRestored
from interpstack_langchain.state.owners import running_graph
from interpstack_langchain.tools.approvals import Approvals, UnfitAnswer, decided
from interpstack_langchain.tools.finishing import finished
from interpstack_langchain.tools.guest_values import to_guest
from interpstack_langchain.tools.tool_errors import uncaught
from interpstack_langchain.tools.tool_schemas import (
    injected_fields,
    input_schema,
    output_schema,
    visible_fields,
)
from interpstack_langchain.tools.tool_twins import NativeCall, native_tool, noting

__all__ = ["PASSES", "EvalCall", "host_tool", "running_eval"]

_T = TypeVar("_T")

#: What an inner call raises for the graph, or for who resumes it, and not for the code.
PASSES: Final = (
    GraphBubbleUp,
    ReplayDivergence,
    StateNotRestored,
    UnfitAnswer,
    UnreadableLedger,
)

_log = logging.getLogger(__name__)

#: Characters of an input shown in progress events.
_PREVIEW_CHARS = 200
_preview = reprlib.Repr()
_preview.maxstring, _preview.maxdict, _preview.maxlevel = _PREVIEW_CHARS, 10, 3


@attrs.define(eq=False)
class EvalCall:
    """One running eval, as its inner calls need to know it.

    Attributes:
        request: The model's call of the eval tool.
        run: Runs a tool call through the agent's tool node.
        approvals: What must not run before somebody has decided on it.
        store: Keeps the eval's ledger, if anything does.
        callbacks: The eval's own callbacks.
        tells_tools: Whether calls of tools are told on the custom stream.
        raises: Whether a tool's exception that code does not catch leaves the eval.
        commands: State updates that inner calls returned, with the calls' ids, in order; in the
            ledger, too, if there is one.
        leaving: Commands that leave beside the eval's message, since they are for another graph.
        listened: Whether somebody may listen to the graph's custom stream.
        raised: What tools raised, in order.
        inside: The call of another eval's code that this eval is, if it is one.
        outer: That other eval.
        graph: The graph that the model's call stands in; calls of code are in scopes below it.
    """

    request: ToolCallRequest
    run: Callable[[ToolCallRequest], Coroutine[Any, Any, Any]]
    approvals: Approvals | None = None
    store: CheckpointStore | None = None
    callbacks: Any = None
    tells_tools: bool = True
    raises: bool = False
    commands: list[tuple[int, Command[Any]]] = attrs.field(factory=list)
    leaving: list[Command[Any]] = attrs.field(factory=list, init=False)
    raised: list[Exception] = attrs.field(factory=list, init=False)
    listened: bool = attrs.field(init=False)
    inside: NativeCall | None = attrs.field(init=False)
    outer: EvalCall | None = attrs.field(init=False)
    graph: str = attrs.field(init=False)
    _name: str = attrs.field(init=False)
    _place: str = attrs.field(init=False)
    _writer_failed: bool = False

    def __attrs_post_init__(self) -> None:
        self._name, self._place = call_name(self.request), _place(self.request)
        self.listened = not _is_empty(self.request.runtime.stream_writer)
        call = noting.get(None)
        self.inside = call if call is not None and call.id == self.id else None
        self.outer = running_eval.get(None) if self.inside is not None else None
        self.graph = running_graph() if self.outer is None else self.outer.graph
        if self.store is not None:
            self.commands = self.store.commands
            self.store.outer = None if self.outer is None else self.outer.store

    @property
    def id(self) -> str:
        """The model's id for this eval."""
        return self.request.tool_call["id"] or ""

    def call_id(self, context: CellContext) -> str:
        """The tool-call id of an inner call, the same in every run of the eval.

        Models may use their own ids again in another turn; calls of another message have others.
        """
        if self.store is not None and self.store.form == 1:  # its calls were made under these
            return f"{self.id}:{context.request_id}"
        return f"{self._name}:{self._place}:{context.request_id}"

    def event_id(self, context: CellContext) -> str:
        """The id of an inner call among those of its eval, as progress events tell it."""
        return f"{self._name}:{context.request_id}"

    def scope_of(self, context: CellContext) -> Mapping[str, Any]:
        """What makes interrupts and subgraphs of an inner call its own."""
        journal = journal_of(context)
        if self.store is None or journal is None:
            return {}
        return self.store.scope_of(journal, context.request_id).configurable

    def returned(self, context: CellContext, command: Command[Any]) -> None:
        """Note a state update that an inner call returned."""
        if self.store is not None:
            self.store.returned(context.request_id, command)
        else:
            self.commands.append((context.request_id, command))

    def call_for(
        self, tool: BaseTool, given: dict[str, Any], context: CellContext
    ) -> tuple[BaseTool, dict[str, Any]] | str:
        """What to run for an inner call, or what somebody answered in its place.

        Raises:
            ApprovalNeeded: Nobody has decided yet.
            GuestException: Somebody decided against it.
            ReplayDivergence: The decision was made on another call.
        """
        journal = journal_of(context)
        if self.approvals is None and journal is None:
            return tool, given
        asked = ToolCall(name=tool.name, args=given, id=self.call_id(context), type="tool_call")
        # What was decided holds, whatever needs an approval by now.
        call = decided(asked, journal, context.request_id)
        if call is None:
            if self.approvals is not None:
                self.approvals.check(asked, self, journal)
            return tool, given
        if isinstance(call, str):
            return call
        if call["name"] != tool.name:
            tool = native_tool(self._tool(call["name"]))
        return tool, call["args"]

    def _tool(self, name: str) -> BaseTool:
        """A tool of the agent that a reviewer named."""
        tools = {tool.name: tool for tool in self.request.runtime.tools}
        tools.pop(self.request.tool_call["name"], None)  # an eval would wait for itself
        if name not in tools:
            known = ", ".join(sorted(tools))
            raise GuestException(f"a reviewer named the tool {name!r}; the agent has: {known}")
        return tools[name]

    def failure(self, outcome: Outcome) -> Exception | None:
        """What leaves the eval in place of its outcome, if something does."""
        return uncaught(outcome, self.raised) if self.raises else None

    async def leave(self, outcome: Outcome) -> None:
        """Drop what was only needed to go on.

        Raises:
            Exception: What a tool raised; its call is made again when the eval is run again.
        """
        failure = self.failure(outcome)
        if self.store is not None and (failure is None or outcome.error is None):
            await self.store.ended()
        elif self.store is not None and outcome.error is not None:
            await self.store.left(outcome.error)
        if failure is not None:
            raise failure

    def emit(self, event: dict[str, Any]) -> None:
        """Send an event on the graph's custom stream, if somebody listens.

        A writer that fails is logged, once: the call that the event tells of goes on, since
        what it does cannot be taken back.
        """
        if not self.listened:
            return
        try:
            self.request.runtime.stream_writer({"eval_id": self.id, **event})
        except Exception:  # noqa: BLE001 - a writer may raise anything
            if not self._writer_failed:
                self._writer_failed = True
                _log.warning("progress of eval %s cannot be told", self.id, exc_info=True)


def _place(request: ToolCallRequest) -> str:
    """Identifies the message in which the model made a call."""
    state = request.state
    messages = state.get("messages", []) if isinstance(state, Mapping) else []
    for message in reversed(messages):
        if any(
            call["id"] == request.tool_call["id"] for call in getattr(message, "tool_calls", ())
        ):
            return blake2b(str(message.id).encode(), digest_size=4).hexdigest()
    return ""


def _is_empty(function: Any) -> bool:
    """Whether a function has no body, as the writer of a graph to which nobody listens."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_code == _empty.__code__.co_code


def _empty(event: Any) -> None:
    pass


running_eval: ContextVar[EvalCall] = ContextVar("interpstack_eval")


def host_tool(tool: BaseTool) -> HostTool:
    """A LangChain tool as the plugins know tools."""
    twin = native_tool(tool)
    injected = injected_fields(tool)
    fields = ", ".join(visible_fields(tool)) or "none"

    async def call(given: dict[str, Any], context: CellContext) -> Any:
        forged = next((name for name in given if name in injected), None)
        if forged is not None:
            message = f"{tool.name} has no field {forged!r}; its fields are: {fields}"
            raise GuestException(message, name="TypeError")
        return await _call(twin, given, context)

    return HostTool(
        name=tool.name,
        description=tool.description,
        input_schema=input_schema(tool),
        output_schema=output_schema(tool),
        call=call,
        passes=PASSES,
    )


async def _call(tool: BaseTool, given: dict[str, Any], context: CellContext) -> Any:
    running: EvalCall = context.host
    made = running.call_for(tool, given, context)
    if isinstance(made, str):
        return made
    tool, given = made
    if not (running.listened and running.tells_tools):
        return (await run_tool(tool, given, context))[0]
    event = {"type": "tool", "id": running.event_id(context), "tool": tool.name}
    running.emit({**event, "phase": "start", "input": _preview.repr(given)[:_PREVIEW_CHARS]})
    begun = time.monotonic()
    try:
        value, _ = await run_tool(tool, given, context)
    except PASSES:
        raise
    except Exception as error:
        spent = round((time.monotonic() - begun) * 1000)
        running.emit({**event, "phase": "error", "duration_ms": spent, "error": str(error)[:500]})
        raise
    spent = round((time.monotonic() - begun) * 1000)
    running.emit({**event, "phase": "complete", "duration_ms": spent})
    return value


async def run_tool(
    tool: BaseTool,
    given: dict[str, Any],
    context: CellContext,
    configurable: Mapping[str, Any] = {},
) -> tuple[Any, Any]:
    """Run one inner call.

    Args:
        tool: Made by `native_tool`.
        given: The input.
        context: Of the guest's request.
        configurable: Added to the call's runnable configuration.

    Returns:
        The value for the guest, and what the tool itself returned (`None` if it did not).

    Raises:
        GuestException: The call failed; the message is the one the model would have read.
        GraphBubbleUp: The tool interrupts the graph.
    """
    running: EvalCall = context.host
    call_id = running.call_id(context)
    scope = running.scope_of(context)
    call = NativeCall(call_id, running.callbacks, scope)
    noting.set(call)  # each inner call runs in a task, and so in a context, of its own
    runtime = running.request.runtime
    config = runtime.config
    if configurable or scope:
        merged = {**config.get("configurable", {}), **scope, **configurable}
        config = {**config, "configurable": merged}
    runtime = _changed(runtime, tool_call_id=call_id, config=config)
    request = _changed(
        running.request,
        tool_call={"type": "tool_call", "name": tool.name, "args": given, "id": call_id},
        tool=tool,
        runtime=runtime,
    )
    made = running.run(request)
    try:
        answer = await (made if running.store is None else finished(made, call))
    except (*PASSES, GuestException):
        raise
    except Exception as error:
        running.raised.append(error)
        raise
    return _value(tool, call, answer, running, context), call.value


def _changed(given: _T, **changes: Any) -> _T:
    """A copy of a plain dataclass; `dataclasses.replace` takes ten times as long."""
    made = object.__new__(type(given))
    made.__dict__.update(given.__dict__, **changes)
    return made


def _value(
    tool: BaseTool, call: NativeCall, answer: Any, running: EvalCall, context: CellContext
) -> Any:
    """What the guest gets for a finished call; commands go to the graph."""
    for command in call.commands:
        running.returned(context, command)
    message: ToolMessage | None = None
    for item in answer if isinstance(answer, list) else [answer]:
        if isinstance(item, ToolMessage):
            message = item
        elif isinstance(item, Command):
            own, command = _split(item, running.call_id(context))
            message = own or message
            running.returned(context, command)
    if message is not None and message.status == "error":
        raise GuestException(str(message.text) or "the tool failed")
    if message is None:
        return None
    if not call.unchanged(message) or isinstance(call.value, ToolMessage):
        return to_guest(message.content)
    if tool.response_format == "content_and_artifact" and isinstance(call.value, tuple):
        return to_guest(call.value[0])
    return to_guest(call.value)


def _split(command: Command[Any], call_id: str) -> tuple[ToolMessage | None, Command[Any]]:
    """Take the call's own tool message out: the model made no call of that id."""
    own: ToolMessage | None = None
    kept: list[tuple[str, Any]] = []
    for key, value in command._update_as_tuples():  # noqa: SLF001 - every form an update may have
        if key == "messages":
            messages = value if isinstance(value, list) else [value]
            mine = [m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == call_id]
            own = mine[-1] if mine else own
            value = [m for m in messages if not any(m is one for one in mine)]
            if mine and not value:
                continue
        kept.append((key, value))
    return own, dataclasses.replace(command, update=kept)
