"""Recorded evals of a thread, found in its checkpoints for any graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs
from langchain_core.messages import ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from interpstack import ConfigurationError
from interpstack_agents import joined
from interpstack_langchain.durability.checkpoint_writes import eval_key, recorded_entries
from interpstack_langchain.evals.call_names import unique_names
from interpstack_langchain.langgraph_internals.call_scopes import pending_calls
from interpstack_langchain.state.channels import Channels
from interpstack_langchain.state.graph_state import turn_of, with_writes

__all__ = ["RecordedEval", "pick", "recorded_evals", "records_before"]

#: Threads that a message names, and checkpoints that are looked through for them.
_NAMED_THREADS: Final = 10
_LOOKED_THROUGH: Final = 200

Record = Mapping[str, Any]


@attrs.frozen(kw_only=True)
class RecordedEval:
    """One eval of a thread.

    Attributes:
        number: The position of the eval in its thread, from 1.
        key: Identifies it; see `eval_key`.
        namespace: The namespace of the graph that ran the eval; empty for the outermost.
        call_id: The model's id for it; with a number where two calls of a message have one id.
        began: When its step's checkpoint was made, as ISO 8601.
        code: The source of the eval.
        entries: The journal of the eval.
        answer: The answer to the model, or `None` if the eval had not ended.
        earlier: Ids of the message's evals before it.
        blocked: Whether the eval did not run, because an earlier one had not ended.
        saved: The checkpoint that its step started from.
        tool_name: The interpreter's.
    """

    number: int
    key: str
    namespace: str
    call_id: str
    began: str
    code: str
    entries: Sequence[Record]
    answer: str | None
    earlier: Sequence[str]
    blocked: bool
    saved: CheckpointTuple = attrs.field(repr=False)
    tool_name: str = "eval"

    @property
    def owner(self) -> str:
        """The conversation, as the records of its state name it."""
        return f"thread:{self.saved.config['configurable']['thread_id']}|{self.namespace}"


def recorded_evals(
    saver: BaseCheckpointSaver[Any], thread: str, tool_name: str
) -> list[RecordedEval]:
    """All evals of a thread in the order in which their steps began, branches included.

    Raises:
        ConfigurationError: There is no such thread, or no eval in it.
    """
    found = list(saver.list({"configurable": {"thread_id": thread}}))
    if not found:
        raise ConfigurationError(f"there is no thread {thread!r}; {_known_threads(saver)}")
    found.sort(key=lambda saved: str(saved.checkpoint["id"]))
    evals: list[RecordedEval] = []
    others: dict[str, None] = {}
    for saved in found:
        calls = pending_calls(saved.checkpoint)
        others |= {str(call["name"]): None for call in calls}
        named = zip(unique_names(str(call["id"] or "") for call in calls), calls, strict=True)
        own = [
            (name, call)
            for name, call in named
            if call["name"] == tool_name and "code" in call["args"]
        ]
        names = [name for name, _ in own]
        for place, (name, call) in enumerate(own):
            code = str(call["args"]["code"])
            found_one = _eval(saved, len(evals) + 1, code, name, names[:place])
            evals.append(attrs.evolve(found_one, tool_name=tool_name))
    if not evals:
        called = ", ".join(others) or "none"
        raise ConfigurationError(
            f"thread {thread!r} has no call of {tool_name!r}; tools called in it: {called}. Name "
            "the interpreter's tool with --tool-name; runs with durability='exit' keep no steps"
        )
    return evals


def pick(evals: Sequence[RecordedEval], number: int | None) -> Sequence[RecordedEval]:
    """The eval of this number, from the end if it is negative; all without a number.

    Raises:
        ConfigurationError: There is none.
    """
    if number is None:
        return evals
    if number == 0 or abs(number) > len(evals):
        count = len(evals)
        raise ConfigurationError(
            f"--eval {number}: the thread has {count} eval{'s' if count > 1 else ''}; it takes 1 "
            f"to {count}, or -1 to -{count} from the end"
        )
    return [evals[number - 1 if number > 0 else number]]


def records_before(
    saver: BaseCheckpointSaver[Any], found: RecordedEval
) -> tuple[Sequence[Record], Sequence[Record]]:
    """Records of the interpreter's state: those before an eval, and those that the eval wrote."""
    channels = Channels.of(found.tool_name)
    values = found.saved.checkpoint["channel_values"]
    state = {
        "interpreter_record": _recorded(saver, found.saved, channels.own("interpreter_record")),
        "interpreter_turn": values.get(channels.own("interpreter_turn"), ""),
    }
    ended = _tasks(found.saved.pending_writes or ())
    earlier = [w for call in found.earlier for w in ended.get(call, ())]
    before, _ = with_writes(state, channels.known(earlier))
    after, _ = with_writes({}, channels.known(ended.get(found.call_id, ())))
    turn = turn_of(before)
    # In mode `turn`, records name their turn, and records of another turn are invalid.
    records = [
        record
        for record in before["interpreter_record"]
        if not isinstance(record, Mapping) or record.get("turn", turn) == turn
    ]
    return records, after.get("interpreter_record") or []


def _eval(
    saved: CheckpointTuple, number: int, code: str, call_id: str, earlier: Sequence[str]
) -> RecordedEval:
    key = eval_key(saved.config, call_id)
    writes = saved.pending_writes or ()
    entries = recorded_entries(key, writes)
    told = _told(writes)
    waits = any(one not in told for one in earlier)
    return RecordedEval(
        number=number,
        key=key,
        namespace=str(saved.config["configurable"].get("checkpoint_ns", "")),
        call_id=call_id,
        began=str(saved.checkpoint["ts"]),
        code=code,
        entries=entries,
        answer=told.get(call_id),
        earlier=earlier,
        blocked=waits and not entries and call_id not in told,
        saved=saved,
    )


def _told(writes: Iterable[tuple[str, str, Any]]) -> dict[str, str]:
    """The answers to tool calls, by id."""
    messages = [
        message
        for _, channel, value in writes
        if channel == "messages"
        for message in (value if isinstance(value, list) else [value])
    ]
    told = [one for one in messages if isinstance(one, ToolMessage)]
    # A message that others follow is written twice, under one id; the last one counts.
    given = list({one.id or str(id(one)): one for one in told}.values())
    names = unique_names(one.tool_call_id for one in given)
    return {name: one.text for name, one in zip(names, given, strict=True)}


def _recorded(saver: BaseCheckpointSaver[Any], saved: CheckpointTuple, name: str) -> Any:
    """The records that a checkpoint holds, without the graph that would read them."""
    values = saved.checkpoint["channel_values"]
    if name in values:
        return _stored(values[name])
    history = saver.get_delta_channel_history(config=saved.config, channels=[name])[name]
    start = _stored(history["seed"]) if "seed" in history else []
    return joined(start, [value for _, _, value in history["writes"]])


def _stored(value: Any) -> Any:
    channel: DeltaChannel[Any] = DeltaChannel(joined, list)
    return channel.from_checkpoint(value).get()


def _tasks(writes: Iterable[tuple[str, str, Any]]) -> dict[str, list[tuple[str, Any]]]:
    """Writes of finished tasks, by the tool call that each of them answered."""
    tasks: dict[str, list[tuple[str, Any]]] = {}
    for task, channel, value in writes:
        tasks.setdefault(task, []).append((channel, value))
    return {call: written for written in tasks.values() for call in with_writes({}, written)[1]}


def _known_threads(saver: BaseCheckpointSaver[Any]) -> str:
    found: dict[str, None] = {}
    for saved in saver.list(None, limit=_LOOKED_THROUGH):
        found[str(saved.config["configurable"]["thread_id"])] = None
    names = list(found)[:_NAMED_THREADS]
    return f"those used last are: {', '.join(names)}" if names else "the database has none"
