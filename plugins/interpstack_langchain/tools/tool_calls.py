"""Inner calls: tools of the agent, called from code as if the model had called them.

An eval runs the calls of its code through the agent's own `ToolNode`, with all of the agent's
middleware around it, whatever its order (see `tool_chains`). So argument validation, injected
state, store and runtime, error handling and `wrap_tool_call` are exactly those of a call by the
model.

An eval with a journal runs again when its graph is resumed, and repeats the calls that its journal
does not answer. So a call whose tool has returned, or runs in a thread that nothing can stop, comes
to its end although the eval is cancelled. A tool that awaits something is cancelled.
"""

from __future__ import annotations

import asyncio
import dataclasses
import reprlib
from collections.abc import Collection, Coroutine, Mapping
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import attrs
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph import errors as langgraph_errors
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from interpstack import (
    CellContext,
    GuestException,
    HostTool,
    UnsupportedValue,
)
from interpstack.values import has_read_keys
from interpstack_durable.api import grace_of, made_when
from interpstack_langchain.evals.eval_call import PASSES, EvalCall
from interpstack_langchain.langgraph_internals.inner_calls import inside
from interpstack_langchain.langgraph_internals.refused_inputs import refuses_input
from interpstack_langchain.rules.approvals import UnfitAnswer
from interpstack_langchain.tools.call_log import logged
from interpstack_langchain.tools.guest_values import to_guest
from interpstack_langchain.tools.native_calls import NativeCall, running_native_call
from interpstack_langchain.tools.task_tool import TASK, TaskCall
from interpstack_langchain.tools.tool_schemas import (
    injected_fields,
    input_schema,
    lost_key,
    may_take,
    output_schema,
    visible_fields,
    wrong_input,
)
from interpstack_langchain.tools.wrapped_tools import native_tool, wraps_tool
from interpstack_learned import NotAnAnswer

__all__ = ["host_tool", "reported", "run_tool"]

_T = TypeVar("_T")
#: Earlier releases of LangGraph check no answers.
_is_invalid_resume = getattr(langgraph_errors, "is_invalid_resume", lambda error: False)


#: Characters of an input shown in progress events.
_PREVIEW_CHARS = 200
_preview = reprlib.Repr()
_preview.maxstring, _preview.maxdict, _preview.maxlevel = _PREVIEW_CHARS, 10, 3


@attrs.frozen(eq=False, repr=False)
class _Calls:
    """Makes the calls of one tool.

    Attributes:
        wrapped: The wrapped tool, made by `native_tool`.
        injected: Names of the arguments that only the host may fill in.
        fields: Names of the arguments that code may pass, for messages.
        reads_keys: Whether a dictionary in the input has keys that are read from text.
    """

    wrapped: BaseTool
    injected: frozenset[str]
    fields: str
    reads_keys: bool

    def __call__(self, given: dict[str, Any], context: CellContext) -> Coroutine[Any, Any, Any]:
        if not self.injected.isdisjoint(given):
            forged = next(name for name in given if name in self.injected)
            message = f"{self.wrapped.name} has no field {forged!r}; its fields are: {self.fields}"
            raise GuestException(message, name="TypeError")
        if self.reads_keys and (lost := lost_key(self.wrapped, given)):
            raise GuestException(f"{self.wrapped.name}: {lost}", name="TypeError")
        return _call(self.wrapped, given, context)


#: Tools as plugins know them, by the ids of LangChain's, which they keep alive. Tools are often
#: handed to a new agent for each request, and converting one takes a good part of an eval.
_converted: WeakValueDictionary[int, HostTool] = WeakValueDictionary()


def host_tool(tool: BaseTool) -> HostTool:
    """A LangChain tool as the plugins know tools; the same object while the tool is the same."""
    known = _converted.get(id(tool))
    calls = None if known is None else known.call
    if known is not None and isinstance(calls, _Calls) and wraps_tool(calls.wrapped, tool):
        return known
    made = _host_tool(tool)
    if not isinstance(tool.args_schema, dict):  # which may change without a trace
        _converted[id(tool)] = made
    return made


def _host_tool(tool: BaseTool) -> HostTool:
    described, returned = input_schema(tool), output_schema(tool)
    fields = ", ".join(visible_fields(tool)) or "none"
    injected = injected_fields(tool)
    return HostTool(
        name=tool.name,
        description=tool.description,
        input_schema=described,
        output_schema=returned,
        # The wrapped tool comes last: to describe a tool changes its private attributes.
        call=_Calls(native_tool(tool), injected, fields, has_read_keys(tool.args_schema)),
        refuses=None if isinstance(tool.args_schema, dict) else partial(_refused, tool),
        passes=PASSES,
    )


def _refused(tool: BaseTool, known: Mapping[str, Any], later: Collection[str]) -> str:
    """Why a tool would refuse an input, in the words of its refusal; empty if it may take it."""
    args = {**dict.fromkeys(later), **known}
    wrong = "" if may_take(tool, args, later) else wrong_input(tool, args, later)
    return f"{tool.name}: {wrong}" if wrong else ""


def _call(tool: BaseTool, given: dict[str, Any], context: CellContext) -> Coroutine[Any, Any, Any]:
    running: EvalCall = context.host
    made = running.call_for(tool, given, context)
    if isinstance(made, str):
        return _answered(made)
    if running.progress.send is None or not running.tells_tools:
        return run_tool(*made, context)
    return reported(*made, context)


def reported(
    tool: BaseTool, given: dict[str, Any], context: CellContext
) -> Coroutine[Any, Any, Any]:
    """Run one inner call as `run_tool` does, and report it on the custom stream."""
    running: EvalCall = context.host
    if running.progress.send is None or not running.tells_tools:
        return run_tool(tool, given, context)
    event = {"type": "tool", "id": running.event_id(context), "tool": tool.name}
    start = {"input": _preview.repr(given)[:_PREVIEW_CHARS]}
    return running.progress.around(event, start, run_tool(tool, given, context))


async def _answered(text: str) -> str:
    """The answer that a person gave in place of a call."""
    return NotAnAnswer(text)


def run_tool(
    tool: BaseTool, given: dict[str, Any], context: CellContext
) -> Coroutine[Any, Any, Any]:
    """Run one inner call, in a task of its own, whose `running_native_call` holds the `NativeCall`.

    Args:
        tool: Made by `native_tool`.
        given: The input of the call.
        context: The context of the guest's request.

    Returns:
        The value for the guest.

    Raises:
        GuestException: The call failed; the message is the one the model would have read.
        GraphBubbleUp: The tool interrupts the graph.
    """
    running: EvalCall = context.host
    call_id = running.call_id(context)
    return logged(tool.name, call_id, PASSES, _made(tool, given, context, call_id))


async def _made(tool: BaseTool, given: dict[str, Any], context: CellContext, call_id: str) -> Any:
    running: EvalCall = context.host
    scope = configurable = running.scope_of(context)
    task: TaskCall | None = None
    if tool.name == TASK:
        task = TaskCall.of(tool, given)
        tool, given, configurable = task.tool, task.given, {**scope, **task.configurable}
    in_thread = partial(context.threads.running, context.request_id, tool.name)
    grace = partial(grace_of, context)
    call = NativeCall(call_id, running.callbacks, scope, in_thread, grace)
    running_native_call.set(call)  # each inner call runs in a task, and so in a context, of its own
    request = _request(running.request, tool, given, call_id, configurable)
    with inside(scope, running.id) if scope else running.unrecorded_call(tool.name):
        try:
            with made_when(context, call.leave):
                answer = await running.run(request)
        except (*PASSES, GuestException, asyncio.CancelledError):
            call.leave()
            raise
        except Exception as error:
            if call.refused:
                await _cancel_again()
            if _is_invalid_resume(error):  # the answer to its question, which stays open
                raise UnfitAnswer(str(error)) from error
            running.raised.append(error)
            raise
        if call.refused:
            await _cancel_again()
        value = _value(tool, given, call, answer, running, context)
        return value if task is None else task.value(call.value, value)


async def _cancel_again() -> None:
    """Cancel the task, whose thread outlasted a cancellation, but did not run the tool."""
    if (task := asyncio.current_task()) is not None:
        task.cancel()
        await asyncio.sleep(0)


def _request(
    outer: ToolCallRequest,
    tool: BaseTool,
    given: dict[str, Any],
    call_id: str,
    configurable: Mapping[str, Any],
) -> ToolCallRequest:
    """An inner call as the tool node takes calls, made of the eval's own."""
    config = outer.runtime.config
    if configurable:
        config = {**config, "configurable": {**config.get("configurable", {}), **configurable}}
    return _changed(
        outer,
        tool_call={"type": "tool_call", "name": tool.name, "args": given, "id": call_id},
        tool=tool,
        runtime=_changed(outer.runtime, tool_call_id=call_id, config=config),
    )


def _changed(given: _T, **changes: Any) -> _T:
    """A copy of a plain dataclass; `dataclasses.replace` takes ten times as long."""
    made = object.__new__(type(given))
    made.__dict__.update(given.__dict__, **changes)
    return made


def _value(
    tool: BaseTool,
    given: dict[str, Any],
    call: NativeCall,
    answer: Any,
    running: EvalCall,
    context: CellContext,
) -> Any:
    """The guest's value for a finished call; commands go to the graph."""
    for command in call.commands:
        running.returned(context, command)
    items = answer if isinstance(answer, list) else [answer]
    for item in items:
        if isinstance(item, Command) and item.resume is not None:
            raise GuestException(
                f"{tool.name} was called, but it returned a Command(resume=…), which has no "
                "effect: only the caller of the graph answers its interrupts; return the value, "
                "or an update"
            )
    message: ToolMessage | None = None
    for item in items:
        if isinstance(item, ToolMessage):
            message = item
        elif isinstance(item, Command):
            own, command = _split(item, running.call_id(context))
            message = own or message
            running.returned(context, command)
    if message is not None and message.status == "error":
        text = str(message.text) or "the tool failed"
        if refuses_input(text, tool.name, given) and (wrong := wrong_input(tool, given)):
            raise GuestException(f"{tool.name}: {wrong}")
        raise GuestException(text)
    if message is None:
        return None
    value = call.value
    if not call.unchanged(message) or isinstance(value, ToolMessage):
        value = message.content
    elif tool.response_format == "content_and_artifact" and isinstance(value, tuple):
        value = value[0]
    try:
        return to_guest(value)
    except UnsupportedValue as error:
        raise UnsupportedValue(
            f"{tool.name} was called, but its answer cannot reach the code: {error.reason}"
        ) from error


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
