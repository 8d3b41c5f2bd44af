"""Recorded evals of a thread, found in its checkpoints for any graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from interpstack import ConfigurationError, PluginManager, SessionState
from interpstack_agents import joined, persistence_mode
from interpstack_langchain.background.cell_records import CELLS, running_ids
from interpstack_langchain.durability.checkpoint_writes import eval_key, recorded_entries
from interpstack_langchain.evals.answer_marks import was_refused
from interpstack_langchain.replay.recorded_cells import RecordedCells, SuspendedCell
from interpstack_langchain.replay.recorded_steps import RecordedStep
from interpstack_langchain.replay.recorded_surfaces import (
    RecordedCode,
    RecordedSurface,
    recorded_surfaces,
)
from interpstack_langchain.state.channels import Channels
from interpstack_langchain.state.graph_state import turn_of, with_writes

__all__ = [
    "RecordedEval",
    "evals_of",
    "pick",
    "recorded_evals",
    "recorded_state",
    "recorded_steps",
    "records_before",
]

#: Threads that a message names, and checkpoints that are looked through for them.
_NAMED_THREADS: Final = 10
_LOOKED_THROUGH: Final = 200
_BLOCKED: Final = "it runs once the evals before it in the same message have ended"

Record = Mapping[str, Any]


@attrs.frozen(kw_only=True)
class RecordedEval:
    """One eval of a thread.

    Attributes:
        number: The position of the eval in its thread, from 1.
        key: Identifies it; see `eval_key`.
        call_id: The model's id for it; with a number where two calls of a message have one id.
        code: The code, as the model wrote it and as it ran.
        entries: The journal of the eval.
        answer: The answer to the model with its result, or `None` if the eval had not ended.
        earlier: Names of the message's calls of the interpreter before it.
        not_begun: The reason why the eval did not run; empty if it did.
        step: The step that began it.
        surface: The surface of the interpreter.
        cell: The cell in the background that the eval became, if it was suspended.
    """

    number: int = 0
    key: str
    call_id: str
    code: RecordedCode
    entries: Sequence[Record]
    answer: str | None
    earlier: Sequence[str]
    not_begun: str
    step: RecordedStep = attrs.field(repr=False)
    surface: RecordedSurface
    cell: SuspendedCell | None = None

    @property
    def tool_name(self) -> str:
        """Name of the interpreter's tool for code."""
        return self.surface.tool

    @property
    def saved(self) -> CheckpointTuple:
        """The checkpoint that its step started from."""
        return self.step.saved

    @property
    def namespace(self) -> str:
        """The namespace of the graph that ran the eval; empty for the outermost."""
        return self.step.graph

    @property
    def began(self) -> str:
        """The time at which its step's checkpoint was made, in ISO 8601."""
        return str(self.saved.checkpoint["ts"])

    @property
    def owner(self) -> str:
        """The conversation, as the records of its state name it."""
        return f"thread:{self.saved.config['configurable']['thread_id']}|{self.namespace}"


def recorded_evals(
    saver: BaseCheckpointSaver[Any], thread: str, tool_names: Sequence[str]
) -> list[RecordedEval]:
    """All evals of a thread in the order in which their steps began, branches included.

    Args:
        saver: The checkpointer.
        thread: Name of the thread.
        tool_names: Names of the interpreters' tools.

    Raises:
        ConfigurationError: There is no such thread, or no eval in it.
    """
    steps = recorded_steps(saver, thread)
    if not steps:
        raise ConfigurationError(f"there is no thread {thread!r}; {_known_threads(saver)}")
    evals = evals_of(steps, tool_names)
    if not evals:
        others = dict.fromkeys(str(c["name"]) for step in steps for c in step.calls.values())
        called = ", ".join(others) or "none"
        names = " or ".join(map(repr, tool_names))
        raise ConfigurationError(
            f"thread {thread!r} has no call of {names}; tools called in it: {called}. Name "
            "the interpreter's tool with --tool-name; runs with durability='exit' keep no steps"
        )
    return evals


def recorded_steps(saver: BaseCheckpointSaver[Any], thread: str) -> list[RecordedStep]:
    """All steps of a thread in the order in which they began; none for an unknown thread."""
    saved = [*saver.list({"configurable": {"thread_id": thread}})]  # else damage leaves it open
    return sorted(map(RecordedStep.of, saved), key=lambda step: step.checkpoint)


def evals_of(steps: Sequence[RecordedStep], tool_names: Sequence[str]) -> list[RecordedEval]:
    """The evals among the steps of a thread, numbered in the order in which they began."""
    evals = [one for tool in tool_names for one in _evals(steps, tool)]
    evals.sort(key=lambda one: (one.step.checkpoint, [*one.step.calls].index(one.call_id)))
    return [attrs.evolve(one, number=number) for number, one in enumerate(evals, start=1)]


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
    ended = found.step.tasks
    earlier = [w for call in found.earlier for w in ended.get(call, ())]
    before, _ = with_writes(state, channels.known(earlier))
    last = None if found.cell is None else found.cell.last
    own = channels.known(ended.get(found.call_id, ())) if last is None else last.writes
    after, _ = with_writes({}, own)
    turn = turn_of(before)
    # In mode `turn`, records name their turn, and records of another turn are invalid.
    records = [
        record
        for record in before["interpreter_record"]
        if not isinstance(record, Mapping) or record.get("turn", turn) == turn
    ]
    return records, after.get("interpreter_record") or []


def recorded_state(
    records: Sequence[Record], owner: str, signing_key: bytes | None
) -> SessionState:
    """The state of variables in the last of some records; an empty one without records.

    The plugin's own modes have the same records, so any of them reads those of all. The records of
    another plugin's mode are rejected, unless it derives from `RecordedMode`.

    Args:
        records: The records of a conversation, oldest first.
        owner: The conversation, as records name it.
        signing_key: The key that signed them; `None` without one.

    Raises:
        RecordRejected: The last record cannot be read.
    """
    if not records:
        return SessionState()
    mode = persistence_mode(PluginManager(["persistence"]), "thread")(signing_key=signing_key)
    *earlier, last = records
    return mode.load(last, owner, earlier)


@attrs.frozen
class _Call:
    """A call of an interpreter's tool.

    Attributes:
        step: The step that began it.
        name: The model's id for it; see `RecordedEval.call_id`.
        entries: Its journal.
    """

    step: RecordedStep
    name: str
    entries: Sequence[Record]

    @classmethod
    def of(cls, step: RecordedStep, name: str) -> _Call:
        return cls(step, name, recorded_entries(_key(step, name), step.saved.pending_writes or ()))

    @property
    def args(self) -> Mapping[str, Any]:
        args: Mapping[str, Any] = self.step.calls[self.name]["args"]
        return args


def _evals(steps: Sequence[RecordedStep], tool: str) -> list[RecordedEval]:
    """The evals of one interpreter, without numbers."""
    named = [
        _Call.of(step, name)
        for step in steps
        for name, call in step.calls.items()
        if call["name"] == tool
    ]
    surface, calls = _read(tool, named)
    cells = RecordedCells.of(steps, Channels.of(tool))
    own = {*surface.tools, *cells.tools}
    return [_eval(call, surface, own, cells.of_call(call.step, call.name)) for call in calls]


def _read(tool: str, named: Sequence[_Call]) -> tuple[RecordedSurface, Sequence[_Call]]:
    """The surface to which a tool belongs, and the calls that hold code in it."""
    for kind in recorded_surfaces():
        calls = [call for call in named if kind.takes_code(call.args)]
        surface = kind.of(tool, [one.args for one in calls], [one.entries for one in calls])
        if surface is not None:
            return surface, calls
    raise AssertionError("the plain surface takes every tool")


def _key(step: RecordedStep, name: str) -> str:
    return eval_key(step.saved.config, name)


def _eval(
    call: _Call, surface: RecordedSurface, own: set[str], cell: SuspendedCell | None
) -> RecordedEval:
    step, name = call.step, call.name
    code = surface.code(call.args)
    earlier = step.before(name, own)
    answer = str(step.answers[name].text) if name in step.answers else None
    if cell is not None:
        answer = None if cell.last is None else cell.last.answer
    blocked = not call.entries and any(one not in step.answers for one in earlier)
    return RecordedEval(
        key=_key(step, name),
        call_id=name,
        code=code,
        entries=call.entries,
        answer=answer,
        earlier=earlier,
        not_begun=code.fault
        or (_BLOCKED if blocked and name not in step.answers else "")
        or _refused(call, earlier, Channels.of(surface.tool)),
        step=step,
        surface=surface,
        cell=cell,
    )


def _refused(call: _Call, earlier: Sequence[str], channels: Channels) -> str:
    """The reason why an eval was answered and not run: its faults, or a cell had the variables."""
    step = call.step
    answer = step.answers.get(call.name)
    if answer is not None and was_refused(answer):
        return "the code was refused before it ran"
    wrote = {channel for channel, _ in channels.known(step.tasks.get(call.name, ()))}
    if call.entries or answer is None or answer.status != "error" or "interpreter_record" in wrote:
        return ""
    state = {CELLS: step.saved.checkpoint["channel_values"].get(channels.own(CELLS)) or {}}
    writes = [write for one in earlier for write in step.tasks.get(one, ())]
    running = running_ids(with_writes(state, channels.known(writes))[0])
    return f"cell {running[0]} was still running and held the variables" if running else ""


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


def _known_threads(saver: BaseCheckpointSaver[Any]) -> str:
    found: dict[str, None] = {}
    for saved in saver.list(None, limit=_LOOKED_THROUGH):
        found[str(saved.config["configurable"]["thread_id"])] = None
    names = list(found)[:_NAMED_THREADS]
    return f"those used last are: {', '.join(names)}" if names else "the database has none"
