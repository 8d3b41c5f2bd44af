"""State of the graph: the private channels of the middleware, and how their updates are folded.

The graph's state is the truth, and a live session is only a cache of it. So forks, time travel and
other processes all see the state of their own checkpoint.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NotRequired

from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain_core.messages import ToolMessage
from langgraph.channels.delta import DeltaChannel

from interpstack_agents import Record, SavedState, joined
from interpstack_langchain.background.cell_records import CELLS

__all__ = [
    "HANDLES",
    "PEERS",
    "HandlesState",
    "InterpreterState",
    "drawn_of",
    "joined_handles",
    "mark_of",
    "more_calls",
    "new_turn",
    "number_of",
    "saved_in",
    "turn_of",
    "with_writes",
]

#: The channel of another interpreter, langchain-quickjs.
PEERS: Final = "_quickjs_snapshot_payload"
#: The channel of handles, of agents that have some.
HANDLES: Final = "interpreter_handles"
#: Ended cells whose records are retained, to say what happened to them.
_MAX_ENDED: Final = 32


def newer(left: str, right: str) -> str:
    """Reduce two marks of a turn to the one with the higher sequence number."""
    return right if _number(right) >= _number(left) else left


def more(left: Mapping[str, Any], right: Mapping[str, Any]) -> Mapping[str, Any]:
    """Reduce updates of a turn's budget: drawn amounts only grow."""
    if not left or left["turn"] != right["turn"]:
        return right
    before, after = left["drawn"], right["drawn"]
    drawn = {kind: max(before.get(kind, 0), after.get(kind, 0)) for kind in {**before, **after}}
    return {**right, "drawn": drawn}


def merged(left: Mapping[str, Any], right: Mapping[str, Any]) -> Mapping[str, Any]:
    """Reduce records of cells: the newest of each cell, of the newest cells; an end is final."""
    news = {key: record for key, record in right.items() if "ended" not in left.get(key, ())}
    joined = {**{key: left[key] for key in left if key not in news}, **news}
    ended = [key for key, record in joined.items() if "ended" in record]
    for key in ended[:-_MAX_ENDED]:
        del joined[key]
    return joined


def more_calls(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> dict[str, Any]:
    """Reduce updates of calls that wait to be counted, by eval: counts only grow, to their end."""
    if right is None:
        return {}
    joined = {name: dict(counts) for name, counts in (left or {}).items()}
    for name, counts in right.items():
        own = joined.setdefault(name, {})
        own.update({key: max(own.get(key, 0), count) for key, count in counts.items()})
    return joined


def joined_handles(state: Any, writes: Sequence[Any]) -> Any:
    """Reduce updates of handles, by id, in the order in which they were made; `None` drops one."""
    found = dict(state) if isinstance(state, Mapping) else {}
    for write in writes:
        for name, entry in write.items() if isinstance(write, Mapping) else ():
            if entry is None:
                found.pop(name, None)
            else:
                found.setdefault(name, entry)
    return found


def _any(state: Any, writes: Sequence[Any]) -> bytes:
    """Whether anything was written, as the shortest possible value."""
    return b"1" if any((state, *writes)) else b""


class InterpreterState(AgentState[Any]):
    """Private channels of the middleware.

    A type with `None` keeps a channel without a value, which is not stored, until its first update.
    """

    #: The turn, and the number of the newest record: an older one that was put back in its place
    #: does not fit it.
    interpreter_turn: NotRequired[Annotated[str, PrivateStateAttr, newer]]
    #: Checkpoints hold only the additions of a step; at intervals, LangGraph stores the whole list.
    interpreter_record: NotRequired[
        Annotated[list[Record], PrivateStateAttr, DeltaChannel(joined, snapshot_frequency=16)]
    ]
    #: With variables that conversations share: where this one and the store had the same ones.
    interpreter_shared: NotRequired[Annotated[Mapping[str, str] | None, PrivateStateAttr]]
    #: With a budget: the amounts drawn in the turn, by kind.
    interpreter_drawn: NotRequired[Annotated[Mapping[str, Any] | None, PrivateStateAttr, more]]
    #: With cells in the background: their records, by id.
    interpreter_cells: NotRequired[Annotated[Mapping[str, Any] | None, PrivateStateAttr, merged]]
    #: With a limit on tool calls: calls from code by eval, until they are added to its counts.
    interpreter_calls: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr, more_calls]]
    #: Where langchain-quickjs has its variables; read to say that they are not available.
    _quickjs_snapshot_payload: NotRequired[Annotated[bytes, PrivateStateAttr, DeltaChannel(_any)]]


class HandlesState(InterpreterState):
    """The same, with the handles of the conversation: each with its content, which never changes.

    Only interpreters with handles have it.
    """

    interpreter_handles: NotRequired[
        Annotated[
            dict[str, Any], PrivateStateAttr, DeltaChannel(joined_handles, snapshot_frequency=16)
        ]
    ]


def new_turn(state: Mapping[str, Any]) -> dict[str, Any]:
    """The update that begins a run of the agent."""
    update: dict[str, Any] = {
        "interpreter_turn": f"{secrets.token_hex(8)}:{_number(state.get('interpreter_turn'))}"
    }
    if state.get("interpreter_record"):
        # Turns without an eval count, too: a state is looked up in the last few turns only.
        update["interpreter_record"] = []
    return update


def turn_of(state: Mapping[str, Any]) -> str:
    """Identifies the run of the agent."""
    return str(state.get("interpreter_turn", "")).partition(":")[0]


def drawn_of(state: Mapping[str, Any]) -> Mapping[str, float]:
    """The amounts drawn in the turn so far, from the graph's state."""
    stored = state.get("interpreter_drawn") or {}
    drawn: Mapping[str, float] = stored["drawn"] if stored.get("turn") == turn_of(state) else {}
    return drawn


def with_writes(
    state: Mapping[str, Any], writes: Sequence[tuple[str, Any]]
) -> tuple[Mapping[str, Any], list[str]]:
    """The state as those tasks of the same step leave it that have ended.

    The graph does not show it yet: evals of one message all start from the state before them.

    Args:
        state: The graph's state.
        writes: Channels and the values written to them.

    Returns:
        The state, and the ids of the tool calls that have their answer.
    """
    seen, answered, ids = dict(state), list[str](), set[str | None]()
    for channel, value in writes:
        if channel == "interpreter_record":
            seen[channel] = joined(seen.get(channel) or [], [value])
        elif channel == "interpreter_turn":
            seen[channel] = newer(str(seen.get(channel, "")), str(value))
        elif channel == "interpreter_drawn":
            seen[channel] = more(seen.get(channel) or {}, value)
        elif channel == HANDLES:
            seen[channel] = joined_handles(seen.get(channel), [value])
        elif channel == CELLS:
            seen[channel] = merged(seen.get(channel) or {}, value)
        elif channel == "interpreter_calls":
            seen[channel] = more_calls(seen.get(channel) or {}, value)
        elif channel == "messages":
            given = value if isinstance(value, list) else [value]
            tool_messages = [one for one in given if isinstance(one, ToolMessage)]
            # A message that others follow is written twice, under one id.
            answered += [
                one.tool_call_id for one in tool_messages if one.id is None or one.id not in ids
            ]
            ids |= {one.id for one in tool_messages}
    return seen, answered


def _number(mark: Any) -> int:
    """The sequence number in the mark of a turn."""
    number = str(mark or "").rpartition(":")[2]
    return int(number) if number.isascii() and number.isdigit() else 0


def number_of(state: Mapping[str, Any]) -> int:
    """The sequence number of the newest record that a graph's state has had."""
    return _number(state.get("interpreter_turn"))


def mark_of(turn: str, record: Record) -> str:
    """The mark of a turn whose newest record is this one."""
    return f"{turn}:{record['sequence']}"


def saved_in(state: Mapping[str, Any], *, foreign: bool) -> SavedState:
    """The interpreter's state that a graph's state holds.

    Args:
        state: State of the graph.
        foreign: Whether another interpreter has stored variables there.
    """
    return SavedState(
        records=state.get("interpreter_record") or [],
        newest=_number(state.get("interpreter_turn")),
        turn=turn_of(state),
        foreign=foreign,
    )
