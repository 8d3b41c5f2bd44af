"""One running eval, as the calls of its code need to know it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from hashlib import blake2b
from secrets import token_hex
from typing import Any, Final

import attrs
from langchain_core.callbacks import Callbacks
from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from interpstack import CellContext, ConfigurationError, GuestException, Outcome
from interpstack_agents import ProgressEmitter, shown_arguments, with_handles
from interpstack_durable.api import ReplayDivergence, TimeSlice, UnreadableJournal, journal_of
from interpstack_langchain.background.cell_records import CellRecord
from interpstack_langchain.durability.checkpoint_stores import CheckpointStore
from interpstack_langchain.evals.call_names import SiblingCalls
from interpstack_langchain.evals.watched import Watched
from interpstack_langchain.langgraph_internals.task_writes import TaskWrites
from interpstack_langchain.rules.approvals import Approvals, UnfitAnswer, admitted
from interpstack_langchain.rules.call_limits import CallLimits
from interpstack_langchain.state.not_restored import StateNotRestored
from interpstack_langchain.state.owners import running_graph
from interpstack_langchain.tools.native_calls import NativeCall, running_native_call
from interpstack_langchain.tools.tool_errors import uncaught
from interpstack_langchain.tools.wrapped_tools import native_tool

__all__ = ["PASSES", "EvalCall", "UnboundQuestion", "running_eval"]


class UnboundQuestion(ConfigurationError):
    """Raised when a call of an eval without a record asks a question while others are running.

    LangGraph numbers the questions of a task in the order in which they are asked, and that order
    may change when the eval runs again: the answer would go to another call.
    """


#: What an inner call raises for the graph, or for whoever resumes it, and not for the code.
PASSES: Final = (
    GraphBubbleUp,
    ReplayDivergence,
    StateNotRestored,
    UnboundQuestion,
    UnfitAnswer,
    UnreadableJournal,
)


@attrs.define(eq=False, repr=False)
class EvalCall:
    """One running eval, as its inner calls need to know it.

    Attributes:
        request: The model's call of the eval tool.
        calls: The call and the others of its message, by their names.
        run: Runs a tool call through the agent's tool node, with all middleware around it.
        approvals: The rules for calls that need an approval.
        store: Keeps the eval's journal, if anything does.
        callbacks: The eval's own callbacks.
        tells_tools: Whether calls of tools are reported on the custom stream.
        raises: Whether a tool's exception that code does not catch leaves the eval.
        commands: State updates that inner calls returned, with the calls' ids, in order; in the
            journal, too, if there is one.
        limits: Limits of other middleware on its calls, if there are any.
        leaving: Commands that leave beside the eval's message, since they are for another graph.
        progress: Events for the graph's custom stream, if it can have listeners.
        raised: Exceptions of tools, in order.
        inside: The call of another eval's code that this eval is, if it is one.
        outer: The other eval.
        writes: The writes of the graph's task; `None` outside of a graph.
        graph: The graph that the model's call stands in; calls of code are in scopes below it.
        wall_seconds: Seconds that the eval may take in all, if that is less than the stack's limit.
        cell: The cell in the background that the call continues or ends, if there is one.
        watched: The time slice in which the eval runs, if it may be suspended.
        own: Updates of the interpreter's channels that leave with the answer.
        notices: Notices about the call itself, for its answer.
        handles: The handles that the conversation had when the eval began, by id.
        run_id: Identifies this run of the eval.
    """

    request: ToolCallRequest
    calls: SiblingCalls
    run: Callable[[ToolCallRequest], Coroutine[Any, Any, Any]]
    approvals: Approvals | None = None
    store: CheckpointStore | None = None
    callbacks: Callbacks = None
    tells_tools: bool = True
    raises: bool = False
    cell: CellRecord | None = None
    commands: list[tuple[int, Command[Any]]] = attrs.field(factory=list)
    limits: CallLimits | None = attrs.field(default=None, init=False)
    leaving: list[Command[Any]] = attrs.field(factory=list, init=False)
    raised: list[Exception] = attrs.field(factory=list, init=False)
    progress: ProgressEmitter = attrs.field(init=False)
    inside: NativeCall | None = attrs.field(init=False)
    outer: EvalCall | None = attrs.field(init=False)
    writes: TaskWrites | None = attrs.field(init=False)
    graph: str = attrs.field(init=False)
    wall_seconds: float | None = attrs.field(default=None, init=False)
    watched: Watched | None = attrs.field(default=None, init=False)
    own: dict[str, Any] = attrs.field(factory=dict, init=False)
    notices: list[str] = attrs.field(factory=list, init=False)
    handles: Mapping[str, Any] = attrs.field(factory=dict, init=False)
    run_id: str = attrs.field(factory=partial(token_hex, 8), init=False)
    _place: str = attrs.field(init=False)
    _id_place: str | None = attrs.field(default=None, init=False)
    _unrecorded: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._place = _place(self.calls) if self.cell is None else self.cell.place
        self.writes = TaskWrites.of(self.request.runtime.config or {})
        writer = self.request.runtime.stream_writer
        self.progress = ProgressEmitter(
            None if _is_empty(writer) else writer, {"eval_id": self.id}, PASSES
        )
        call = running_native_call.get(None)
        self.inside = call if call is not None and call.id == self.id else None
        self.outer = running_eval.get(None) if self.inside is not None else None
        self.graph = running_graph() if self.outer is None else self.outer.graph
        if self.store is not None:
            self.commands = self.store.commands
            self.store.run_inside(None if self.outer is None else self.outer.store)

    @property
    def around(self) -> Iterator[str]:
        """Names of the eval tools whose code this eval is part of, from the inside out."""
        outer = self.outer
        while outer is not None:
            yield outer.request.tool_call["name"]
            outer = outer.outer

    def limit_wall(self, seconds: float) -> None:
        """Give the eval a time limit of its own, waiting included."""
        self.wall_seconds = seconds

    @property
    def name(self) -> str:
        """Name of the model's call that began the eval, among the calls of its message."""
        return self.calls.name if self.cell is None else self.cell.name

    @property
    def place(self) -> str:
        """Identifies that message."""
        return self._place

    @property
    def time_slice(self) -> TimeSlice | None:
        """The time slice in which the eval runs, if it may be suspended."""
        return None if self.watched is None else self.watched.time_slice

    def watch(self, watched: Watched) -> None:
        """Run the eval for one time slice."""
        self.watched = watched

    def add(self, update: Mapping[str, Any]) -> None:
        """Have an update of the interpreter's channels leave with the answer."""
        self.own |= update

    def give_notice(self, notice: str) -> None:
        """Have the answer say something about the call itself."""
        self.notices.append(notice)

    def with_notices(self, outcome: Outcome) -> Outcome:
        """Return an outcome with the notices about the call."""
        return attrs.evolve(outcome, notices=(*self.notices, *outcome.notices))

    def begin_with(self, handles: Mapping[str, Any]) -> None:
        """Note the handles that the conversation has."""
        self.handles = handles

    def describe(self, about: Mapping[str, Any]) -> None:
        """Record facts about the eval's code, for a replay without an agent."""
        if self.store is not None:
            self.store.describe(about)

    def trace_with(self, callbacks: Callbacks) -> None:
        """Trace the eval's calls with other callbacks than the eval's own."""
        self.callbacks = callbacks

    def leave_beside(self, commands: Iterable[Command[Any]]) -> None:
        """Have commands leave beside the eval's message."""
        self.leaving += commands

    @property
    def id(self) -> str:
        """The model's id for this eval."""
        return self.request.tool_call["id"] or ""

    def call_id(self, context: CellContext) -> str:
        """The tool-call id of an inner call, the same in every run of the eval.

        Models may use their own ids again in another turn; calls of another message have others. A
        copy of a thread has the same messages, so the id names the thread, too.
        """
        store = self.store
        if self._id_place is None:
            place = self._place
            if store is not None and store.names_thread:
                place = blake2b(f"{store.thread}|{place}".encode(), digest_size=8).hexdigest()
            self._id_place = place
        return f"{self.name}:{self._id_place}:{context.request_id}"

    def event_id(self, context: CellContext) -> str:
        """The id of an inner call in progress events, unique in its eval."""
        return f"{self.name}:{context.request_id}"

    def scope_of(self, context: CellContext) -> Mapping[str, Any]:
        """The scope of an inner call, which separates its interrupts and subgraphs from others."""
        journal = journal_of(context)
        if self.store is None or journal is None:
            return {}
        return self.store.scope_of(journal, context.request_id).configurable

    @contextmanager
    def unrecorded_call(self, tool: str) -> Iterator[None]:
        """Make a call without a scope of its own.

        Args:
            tool: The name of the tool.

        Raises:
            UnboundQuestion: The tool interrupts the graph while other calls are running.
        """
        self._unrecorded += 1
        try:
            yield
        except GraphInterrupt as asked:
            if self._unrecorded == 1:
                raise
            raise UnboundQuestion(
                f"{tool} interrupted the graph while other calls of the same code were running, "
                "and this interpreter keeps no record by which the answer would find its call. "
                "Use durable=True with the plugin 'durable', or have the code make such calls one "
                "after another. Calls that were made may have had their effects"
            ) from asked
        finally:
            self._unrecorded -= 1

    def returned(self, context: CellContext, command: Command[Any]) -> None:
        """Note a state update that an inner call returned."""
        if self.store is not None:
            self.store.returned(context.request_id, command)
        else:
            self.commands.append((context.request_id, command))

    def call_for(
        self, tool: BaseTool, given: dict[str, Any], context: CellContext
    ) -> tuple[BaseTool, dict[str, Any]] | str:
        """The call to run for an inner call, or the answer that a person gave in its place.

        Raises:
            ApprovalNeeded: The decision is missing.
            GuestException: The call was rejected.
            ReplayDivergence: The decision was made on another call.
        """
        journal = journal_of(context)
        note = None if journal is None else journal.noted(f"decision {context.request_id}")
        if self.approvals is None and note is None:
            return tool, given
        shown = shown_arguments(given, context)
        own = None if shown is given else context
        asked = ToolCall(name=tool.name, args=shown, id=self.call_id(context), type="tool_call")
        call = admitted(asked, note, self.approvals, self, own)
        if isinstance(call, str):
            return call
        if call["name"] != tool.name:
            tool = native_tool(self._tool(call["name"]))
        if call is asked:
            return tool, given
        args = call["args"]
        return tool, args if own is None else with_handles(call["name"], args, shown, own)

    def _tool(self, name: str) -> BaseTool:
        """A tool of the agent that a reviewer named."""
        tools = {tool.name: tool for tool in self.request.runtime.tools}
        tools.pop(self.request.tool_call["name"], None)  # an eval would wait for itself
        if name not in tools:
            known = ", ".join(sorted(tools))
            raise GuestException(f"a reviewer named the tool {name!r}; the agent has: {known}")
        return tools[name]

    def failure(self, outcome: Outcome) -> Exception | None:
        """The exception that leaves the eval in place of its outcome, if there is one."""
        if self.limits is not None and self.limits.exceeded is not None:
            return self.limits.exceeded
        return uncaught(outcome, self.raised) if self.raises else None

    async def leave(self, outcome: Outcome) -> None:
        """Delete the data that was only needed to resume.

        Raises:
            Exception: The exception of a tool; its call is made again when the eval is run again.
        """
        failure = self.failure(outcome)
        if self.store is not None and (failure is None or outcome.error is None):
            await self.store.ended()
        elif self.store is not None and outcome.error is not None:
            await self.store.left(outcome.error)
        if failure is not None:
            raise failure


def _place(calls: SiblingCalls) -> str:
    """Identifies the message in which the model made a call."""
    return blake2b(calls.message.encode(), digest_size=4).hexdigest() if calls.message else ""


def _is_empty(function: Any) -> bool:
    """Whether a function has no body, like the stream writer of a graph without listeners."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_code == _empty.__code__.co_code


def _empty(event: Any) -> None:
    pass


running_eval: ContextVar[EvalCall] = ContextVar("interpstack_eval")
