"""Progress events on the graph's custom stream, as their readers see them."""

from __future__ import annotations

from typing import Final, Literal, NotRequired, TypedDict

__all__ = [
    "SUBAGENT_STREAM_EVENT_TYPE",
    "SubagentCompleteEvent",
    "SubagentErrorEvent",
    "SubagentStartEvent",
    "SubagentStreamEvent",
]

#: The `type` of events that tell of a subagent.
SUBAGENT_STREAM_EVENT_TYPE: Final = "subagent"


class SubagentStartEvent(TypedDict):
    """A subagent was started by code.

    Attributes:
        type: Always `subagent`.
        phase: Always `start`.
        id: The id of the dispatch, the same in all of its events. An eval that is run again after a
            pause may report the start again, under this id.
        eval_id: The model's id of the eval.
        subagent_type: The kind of subagent.
        label: A short text for a row of a display.
        description: The task of the subagent, cut to 200 characters.
    """

    type: Literal["subagent"]
    phase: Literal["start"]
    id: str
    eval_id: NotRequired[str]
    subagent_type: str
    label: str
    description: str


class SubagentCompleteEvent(TypedDict):
    """A subagent has answered.

    Attributes:
        type: Always `subagent`.
        phase: Always `complete`.
        id: The id of the dispatch.
        eval_id: The model's id of the eval.
        duration_ms: Milliseconds from its start to its answer.
    """

    type: Literal["subagent"]
    phase: Literal["complete"]
    id: str
    eval_id: NotRequired[str]
    duration_ms: int


class SubagentErrorEvent(TypedDict):
    """A subagent has failed.

    Attributes:
        type: Always `subagent`.
        phase: Always `error`.
        id: The id of the dispatch.
        eval_id: The model's id of the eval.
        duration_ms: Milliseconds from its start to its failure.
        error: The message of its exception, cut to 500 characters.
    """

    type: Literal["subagent"]
    phase: Literal["error"]
    id: str
    eval_id: NotRequired[str]
    duration_ms: int
    error: str


SubagentStreamEvent = SubagentStartEvent | SubagentCompleteEvent | SubagentErrorEvent
