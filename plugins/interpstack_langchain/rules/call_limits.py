"""Limits of the agent's `ToolCallLimitMiddleware`, applied to calls from code.

That middleware counts the calls in the model's messages. It decides about calls from code here, one
by one, as if the model had made them. Their counts wait in a channel of the graph's state until the
next call of the model, and are then added to the middleware's own.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Container, Mapping
from typing import Any, Final

import attrs
from langchain.agents.middleware import ToolCallLimitMiddleware
from langchain.agents.middleware.tool_call_limit import ToolCallLimitExceededError
from langchain_core.messages import AIMessage, ToolCall, ToolMessage

from interpstack import Bridge, BridgeSet, CellGuard, GuestError, Request, Settlement

__all__ = ["CallLimits", "LimitGuard", "Limiter", "folded"]

Limiter = ToolCallLimitMiddleware[Any, Any]

_THREAD: Final = "thread_tool_call_count"
_RUN: Final = "run_tool_call_count"
_CALLS: Final = "interpreter_calls"
#: The key under which the middleware counts calls of all tools.
_ALL: Final = "__all__"

#: Calls by eval and by key of a middleware, for each message, in each run of a graph.
_made: weakref.WeakKeyDictionary[Any, dict[str, dict[str, Counter[str]]]] = (
    weakref.WeakKeyDictionary()
)
_lock = threading.Lock()


@attrs.define(eq=False, repr=False)
class CallLimits:
    """The limits on the calls of one eval.

    Attributes:
        limiters: The middleware of the agent that limits calls which code can make.
        tools: The tools that code can call.
        runtime: The runtime of the eval.
        name: The name of the eval among all evals.
        made: Calls of the evals of one message, by eval and by key.
        state: State of the graph.
        goes_on: Whether the eval was suspended before; its recorded calls have been counted then.
        exceeded: The exception of a limit that ends the agent's run.
    """

    limiters: tuple[Limiter, ...]
    tools: Container[str]
    runtime: Any
    name: str
    made: dict[str, Counter[str]]
    state: Mapping[str, Any]
    goes_on: bool = False
    exceeded: Exception | None = attrs.field(default=None, init=False)

    @classmethod
    def of(cls, run: Any, message: str, **others: Any) -> CallLimits:
        """The limits of an eval.

        Args:
            run: The run of the graph.
            message: Identifies the message of the model.
            others: The attributes but `made`.
        """
        with _lock:
            made = _made.setdefault(run, {}).setdefault(message, {})
        return cls(made=made, **others)

    def see(self, state: Mapping[str, Any]) -> None:
        """Note the state that the eval starts from, with the calls of evals that ended before."""
        self.state = state

    def begin(self) -> None:
        """Count anew: a run of the eval sees the calls of its earlier runs again."""
        self.made[self.name] = Counter()

    def refusal(self, tool: str) -> str | None:
        """Count a call; the reason to refuse it if a limit does not allow it."""
        if self.exceeded is not None:
            return str(self.exceeded)
        call = ToolCall(name=tool, args={}, id="call", type="tool_call")
        before = _totals({**(self.state.get(_CALLS) or {}), **self.made})
        for limiter in self.limiters:
            if limiter.tool_name not in (None, tool):
                continue
            counts = {key: _added(self.state.get(key), before) for key in (_THREAD, _RUN)}
            seen: Any = {"messages": [AIMessage("", tool_calls=[call])], **counts}
            try:
                update = limiter.after_model(seen, self.runtime) or {}
            except ToolCallLimitExceededError as error:
                self.exceeded = error
                return str(error)
            for message in update.get("messages", ()):
                if isinstance(message, ToolMessage):
                    return str(message.text)
        self.count(tool)
        return None

    def count(self, tool: str, times: int = 1) -> None:
        """Count calls that were made."""
        keys = {limiter.tool_name or _ALL for limiter in self.limiters}
        self.made[self.name].update(dict.fromkeys(keys & {tool, _ALL}, times))

    def update(self) -> dict[str, Any]:
        """The update of the graph's state with the calls of the message so far."""
        made = {name: dict(counts) for name, counts in self.made.items() if counts}
        return {_CALLS: made} if made else {}


@attrs.define(eq=False, repr=False)
class LimitGuard(CellGuard):
    """Counts the calls of one run of an eval.

    Attributes:
        limits: The limits of the eval.
    """

    limits: CallLimits

    def __attrs_post_init__(self) -> None:
        self.limits.begin()

    def admit(self, bridge: Bridge, request: Request) -> GuestError | None:
        tool = self._tool(bridge)
        why = None if tool is None else self.limits.refusal(tool)
        return None if why is None else GuestError("ToolError", why, data={"tool": bridge.name})

    def replayed(self, bridge: Bridge | None, request: Request, settlement: Settlement) -> None:
        if self.limits.goes_on:
            return
        tool = self._tool(bridge)
        if tool is not None and not settlement.refused:
            self.limits.count(tool)

    def resumed(self, bridges: BridgeSet, made: Mapping[str, int]) -> None:
        if self.limits.goes_on:
            return
        for name, times in made.items():
            tool = self._tool(bridges.get(name))
            if tool is not None:
                self.limits.count(tool, times)

    def _tool(self, bridge: Bridge | None) -> str | None:
        """The tool behind a bridge, if code may call it as a tool."""
        if bridge is None:
            return None
        name = "task" if bridge.dispatches else bridge.tool
        return name if name in self.limits.tools else None


def folded(state: Any) -> dict[str, Any]:
    """The update that adds calls from code to the counts of the middleware; empty without any."""
    calls = state.get(_CALLS)
    if not calls:
        return {}
    totals = _totals(calls)
    return {key: _added(state.get(key), totals) for key in (_THREAD, _RUN)} | {_CALLS: None}


def _totals(calls: Mapping[str, Mapping[str, int]]) -> Counter[str]:
    return sum((Counter(counts) for counts in calls.values()), Counter[str]())


def _added(counts: Mapping[str, int] | None, more: Mapping[str, int]) -> dict[str, int]:
    return dict(Counter(counts or {}) + Counter(more))
