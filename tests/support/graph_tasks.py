"""Tasks of a graph without the graph: their configuration, their checkpoint, and their calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from langchain_core.messages import AIMessage, ToolCall
from langgraph._internal import _constants as names
from langgraph._internal._scratchpad import PregelScratchpad
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Interrupt

from interpstack import Cell, CellContext
from interpstack_durable.api import DurableRun

PLACE = {"thread_id": "t", "checkpoint_ns": ""}


@attrs.define
class Notes:
    """The notes of a journal, and of nothing else."""

    values: dict[str, Any] = attrs.field(factory=dict)
    seed: int = 1

    def noted(self, key: str) -> Any:
        return self.values.get(key)

    async def note(self, notes: Mapping[str, Any]) -> None:
        self.values |= notes


def stored_checkpoint(saver: Any) -> str:
    """Store an empty checkpoint, and return its id."""
    saved = empty_checkpoint()
    saver.put({"configurable": PLACE}, saved, {}, {})
    return str(saved["id"])


def task_config(
    plain: Any = None,
    answers: Mapping[str, Any] = {},
    *,
    saver: Any = None,
    checkpoint: str = "",
    resuming: bool = False,
    shown: Sequence[str] = (),
) -> dict[str, Any]:
    """The configuration of a task named `tools:1`.

    Args:
        plain: The answer of a resume that names no question.
        answers: The answers of a resume by the ids of their questions.
        saver: The checkpointer of the graph.
        checkpoint: Id of the checkpoint that the step started from.
        resuming: Whether the run continues from a stored checkpoint.
        shown: Ids of the interrupts that are stored for the task.
    """
    left = [plain]
    # LangGraph's own function has variables of these names in its closure.
    parent_scratchpad = None
    pending_writes = [("1", names.INTERRUPT, tuple(Interrupt("?", id=one) for one in shown))]

    def take(consume: bool = False) -> Any:
        assert pending_writes
        assert parent_scratchpad is None
        return left.pop() if consume and left else (left or [None])[0]

    def counter() -> int:
        return 0

    return {
        "configurable": {
            "thread_id": "t",
            names.CONFIG_KEY_CHECKPOINTER: saver,
            names.CONFIG_KEY_CHECKPOINT_MAP: {"": checkpoint},
            names.CONFIG_KEY_CHECKPOINT_NS: "tools:1",
            names.CONFIG_KEY_RESUMING: resuming,
            names.CONFIG_KEY_RESUME_MAP: dict(answers),
            names.CONFIG_KEY_SEND: list[Any]().extend,
            names.CONFIG_KEY_SCRATCHPAD: PregelScratchpad(
                step=1,
                stop=9,
                call_counter=counter,
                interrupt_counter=counter,
                get_null_resume=take,
                resume=[],
                subgraph_counter=counter,
            ),
        }
    }


@attrs.define(slots=False)
class Runtime:
    """The runtime of a tool."""

    config: Mapping[str, Any] = attrs.field(factory=dict)
    tools: Sequence[Any] = ()
    store: Any = None
    stream_writer: Callable[[Any], None] = lambda event: None
    tool_call_id: str = ""


def tool_request(call_id: str = "a", name: str = "eval", **runtime: Any) -> ToolCallRequest:
    """The request for the only call of a model's message `m1`."""
    call = ToolCall(name=name, args={"code": "1"}, id=call_id, type="tool_call")
    message = AIMessage("", id="m1", tool_calls=[call])
    made: Any = Runtime(**runtime)
    return ToolCallRequest(tool_call=call, tool=None, state={"messages": [message]}, runtime=made)


def cell_context(request_id: int = 1, host: Any = None, journal: Any = None) -> CellContext:
    """The context of a request of code; with the notes of a journal, if there is one."""
    return CellContext(
        session_key="s",
        cell=Cell(source="1"),
        request_id=request_id,
        host=host,
        record=None if journal is None else DurableRun(journal),
    )
