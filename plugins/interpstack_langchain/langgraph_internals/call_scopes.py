"""Scopes of interrupts and subgraphs inside one tool call.

LangGraph numbers the interrupts and the subgraphs of a task in the order in which they are made.
The calls of one eval run side by side, and after a pause only some of them run again, so each
gets a scope of its own: a namespace, a count of interrupts, and its answers.

A namespace is a path: `|` goes one graph deeper, and `:` separates a node from its task. Streams
show the agent that a tool runs one level below the graph of the tool's task, and find it by that
depth. So the namespace of a call in the task `tools:1` is `tools:1:call:2`.

The test module `test_call_scopes` has one test for each internal in use, and shows what breaks if
LangGraph changes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any, Final

import attrs
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal._constants import (
    CONFIG_KEY_CALL,
    CONFIG_KEY_CHECKPOINT_MAP,
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_DURABILITY,
    CONFIG_KEY_READ,
    CONFIG_KEY_RESUME_MAP,
    CONFIG_KEY_RESUMING,
    CONFIG_KEY_SCRATCHPAD,
    CONFIG_KEY_SEND,
    INTERRUPT,
    NS_END,
    NS_SEP,
    NULL_TASK_ID,
    RESUME,
    TASKS,
)
from langgraph._internal._scratchpad import PregelScratchpad
from langgraph.types import Interrupt

__all__ = [
    "Checkpoint",
    "Scope",
    "answers_given",
    "checkpoint_key",
    "entered",
    "graph_loop",
    "has_checkpointer",
    "interrupts_shown",
    "pending_calls",
    "plain_answer",
    "scope",
    "stored_interrupts",
    "take_plain_answer",
    "without_answers",
]


#: A scope below its task; a node of this name would have the id of its task for the number.
_CALL: Final = re.compile(r"call:\d+")


@attrs.frozen
class Checkpoint:
    """The store of the running step's writes.

    Attributes:
        saver: The graph's checkpointer.
        config: Identifies the checkpoint the step started from.
        root: Identifies that of the outermost graph, which holds the answer of a resume.
        task: Namespace of the running task.
        resuming: Whether the run continues from a stored checkpoint, which may have writes.
        stored_at_exit: Whether LangGraph stores it only when the run ends or pauses.
    """

    saver: Any
    config: RunnableConfig
    root: RunnableConfig
    task: str
    resuming: bool
    stored_at_exit: bool

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Checkpoint | None:
        """The store in a task's configuration; `None` without a checkpointer."""
        conf = config.get("configurable", {})
        saver, thread = _saver(conf), conf.get("thread_id")
        ids = conf.get(CONFIG_KEY_CHECKPOINT_MAP, {})
        task = str(conf.get(CONFIG_KEY_CHECKPOINT_NS, ""))
        graph = _graph_of(task)
        if saver is None or thread is None or graph not in ids:
            return None

        def at(namespace: str) -> RunnableConfig:
            return {
                "configurable": {
                    "thread_id": str(thread),
                    "checkpoint_ns": namespace,
                    "checkpoint_id": ids[namespace],
                }
            }

        root = at("") if "" in ids else at(graph)
        resuming = bool(conf.get(CONFIG_KEY_RESUMING))
        at_exit = conf.get(CONFIG_KEY_DURABILITY) == "exit"
        return cls(saver, at(graph), root, task, resuming, at_exit)

    def at(self, graph: str, checkpoint: str) -> Checkpoint:
        """An earlier checkpoint of the same thread, as the run of a resumed step reads it."""
        configurable = {
            "thread_id": self.config["configurable"]["thread_id"],
            "checkpoint_ns": graph,
            "checkpoint_id": checkpoint,
        }
        return attrs.evolve(self, config={"configurable": configurable}, resuming=True)

    def writes(self, found: Any) -> list[tuple[str, str, Any]]:
        """The writes of a checkpoint as its saver returned it, in order."""
        return [] if found is None else list(found.pending_writes or [])

    def within(self, inner: Scope) -> RunnableConfig:
        """Identifies the newest checkpoint of a subgraph that runs in a scope."""
        thread = self.config["configurable"]["thread_id"]
        namespace = inner.configurable[CONFIG_KEY_CHECKPOINT_NS]
        return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}

    def has_answers(self, found: Any) -> bool:
        """Whether tasks of a checkpoint have taken answers, and asked again."""
        return any(channel == RESUME for _, channel, _ in self.writes(found))

    @staticmethod
    def answered() -> tuple[list[tuple[str, Any]], str]:
        """The write, and its task, that takes the place of a plain answer.

        Such an answer stays in the checkpoint and would be taken for the next question, too.
        """
        return [(RESUME, None)], NULL_TASK_ID


def has_checkpointer() -> bool:
    """Whether the running graph has a checkpointer; true outside of a graph."""
    config = var_child_runnable_config.get()
    if config is None:
        return True
    return _saver(config.get("configurable", {})) is not None


def graph_loop(conf: Mapping[str, Any]) -> Any:
    """The run of the graph whose task has this configuration; `None` if it cannot be found."""
    keywords = getattr(conf.get(CONFIG_KEY_CALL), "keywords", {})
    return getattr(keywords.get("schedule_task"), "__self__", None)


def _saver(conf: Mapping[str, Any]) -> Any:
    """The checkpointer of the graph that runs; `None` if it has none.

    Tasks of a graph with `checkpointer=False` have the checkpointer of the graph around it in their
    configuration, but nothing of theirs is stored there.
    """
    saver = conf.get(CONFIG_KEY_CHECKPOINTER)
    if saver is None or isinstance(saver, bool):
        return None
    return saver if getattr(graph_loop(conf), "checkpointer", saver) is not None else None


def _graph_of(task: str) -> str:
    """The namespace of the graph that contains a task, from within any scope."""
    graph, _, name = task.rpartition(NS_SEP)
    while _CALL.fullmatch(name):  # code of another eval runs the task's tool
        task = graph
        graph, _, name = task.rpartition(NS_SEP)
    return graph


def checkpoint_key(config: RunnableConfig) -> str:
    """Identifies a checkpoint among all checkpoints."""
    conf = config["configurable"]
    return "|".join((conf["thread_id"], conf["checkpoint_ns"], conf["checkpoint_id"]))


def pending_calls(checkpoint: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tool calls that the step after a checkpoint makes, as the model wrote them."""
    sends = checkpoint["channel_values"].get(TASKS) or ()
    given = [call for send in sends if isinstance(send.arg, list) for call in send.arg]
    return [call for call in given if isinstance(call, dict) and "args" in call]


@attrs.define(eq=False, repr=False)
class Scope:
    """One scope.

    Attributes:
        name: Unique in its task, the same in every run of it.
        answers: The answers to its interrupts so far, in order.
        configurable: Values to merge into the configuration of code in the scope.
    """

    name: str
    answers: list[Any]
    configurable: dict[str, Any] = attrs.field(factory=dict)

    @property
    def id(self) -> str:
        """The id of its next interrupt."""
        return _id(self.configurable[CONFIG_KEY_CHECKPOINT_NS], len(self.answers))


def scope(
    config: Mapping[str, Any],
    name: str,
    answers: list[Any],
    given: Mapping[str, Any] = {},
    send: Callable[[Any], None] | None = None,
    held: Callable[[], Sequence[tuple[str, Any]]] | None = None,
    *,
    beside: bool = False,
) -> Scope:
    """A scope in a task.

    Args:
        config: The task's configuration.
        name: Unique in the task, the same in every run of it.
        answers: Answers to the scope's interrupts in earlier runs.
        given: Answers of this resume to interrupts of the scope, by id.
        send: Takes the writes of code in the scope, of which those to `RESUME` are answers that the
            scope stores itself; by default, the others are writes of the task, which then counts as
            finished even if it fails.
        held: Returns writes that `send` took so far; code in the scope that reads the state sees
            them as if the task had made them.
        beside: Whether graphs in the scope have the depth of graphs that the task itself runs.
    """
    conf = config.get("configurable", {})
    outer: PregelScratchpad = conf[CONFIG_KEY_SCRATCHPAD]
    namespace = f"{conf[CONFIG_KEY_CHECKPOINT_NS]}{NS_END if beside else NS_SEP}{name}"
    answers = list(answers)
    if given and (ours := _id(namespace, len(answers))) in given:  # an id takes long to make
        answers.append(given[ours])
    configurable = {
        CONFIG_KEY_CHECKPOINT_NS: namespace,
        CONFIG_KEY_RESUME_MAP: dict(given),
        CONFIG_KEY_SEND: send or sender(conf[CONFIG_KEY_SEND]),
        CONFIG_KEY_SCRATCHPAD: PregelScratchpad(
            step=outer.step,
            stop=outer.stop,
            call_counter=_Counter(),
            interrupt_counter=_Counter(),
            get_null_resume=_no_plain_answer,
            resume=answers,
            subgraph_counter=_Counter(),
        ),
    }
    if held is not None and CONFIG_KEY_READ in conf:
        configurable[CONFIG_KEY_READ] = _reading(conf[CONFIG_KEY_READ], held)
    return Scope(name, answers, configurable)


def _reading(read: Any, held: Callable[[], Sequence[tuple[str, Any]]]) -> Any:
    """A reader of the task's state that sees writes beside those of the task.

    The result has the arguments of the task's own reader, as `TaskWrites.of` finds them.
    """
    arguments: tuple[Any, ...] = getattr(read, "args", ())
    if len(arguments) != 4 or not hasattr(arguments[3], "_replace"):
        return read  # of a release that passes the task in another way

    def read_held(state: Any, channels: Any, managed: Any, task: Any, *args: Any) -> Any:
        seen = task._replace(writes=[*task.writes, *held()])
        return read.func(state, channels, managed, seen, *args)

    return partial(read_held, *arguments)


@contextmanager
def entered(config: Mapping[str, Any], inner: Scope) -> Iterator[None]:
    """Run the block in a scope of the task whose configuration is `config`."""
    merged = {**config, "configurable": {**config.get("configurable", {}), **inner.configurable}}
    token = var_child_runnable_config.set(merged)  # type: ignore[arg-type]
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def take_plain_answer(config: Mapping[str, Any]) -> Any:
    """Take the answer of this resume that names no interrupt; `None` if there is none."""
    return config["configurable"][CONFIG_KEY_SCRATCHPAD].get_null_resume(True)


def plain_answer(config: Mapping[str, Any]) -> Any:
    """The answer of this resume that names no interrupt, left in place; `None` if there is none."""
    return config["configurable"][CONFIG_KEY_SCRATCHPAD].get_null_resume(False)


def interrupts_shown(config: Mapping[str, Any]) -> Collection[str] | None:
    """The ids of the interrupts that were stored when the outermost graph's run began.

    Only these were shown to the person who answers. The interrupt of a subgraph is stored with the
    subgraph first, and the run may end before it is stored with the outermost graph.

    Returns:
        The ids; `None` if LangGraph keeps them in another place than this release knows.
    """
    asks = config["configurable"][CONFIG_KEY_SCRATCHPAD].get_null_resume
    while (kept := _enclosed(asks)).keys() >= {"pending_writes", "parent_scratchpad"}:
        if kept["parent_scratchpad"] is None:
            return stored_interrupts(kept["pending_writes"])
        asks = kept["parent_scratchpad"].get_null_resume
    return None


def stored_interrupts(writes: Iterable[tuple[str, str, Any]]) -> Collection[str]:
    """The ids of the interrupts among the writes of a checkpoint: tasks, channels and values."""
    stored = [value for _, channel, value in writes if channel == INTERRUPT]
    return {one.id for value in stored for one in value if isinstance(one, Interrupt)}


def _enclosed(function: Any) -> dict[str, Any]:
    """The variables of a function's closure that have a value, by name."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found = {}
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        with suppress(ValueError):  # the cell is empty
            found[name] = cell.cell_contents
    return found


def answers_given(config: Mapping[str, Any]) -> dict[str, Any]:
    """The answers of this resume, by the interrupts' ids."""
    return dict(config.get("configurable", {}).get(CONFIG_KEY_RESUME_MAP) or {})


def _id(namespace: str, answered: int) -> str:
    """The id that LangGraph gives to an interrupt in a namespace with so many answers."""
    where = f"{namespace}{NS_SEP}{answered}" if answered else namespace
    return Interrupt.from_ns(None, where).id


def _no_plain_answer(consume: bool = False) -> Any:
    """An answer that names no interrupt belongs to the eval, which assigns it to a question."""
    return None


class _Counter:
    """Counts from 0, in any thread.

    Each call from code has three, and few calls count anything: the iterator is made on first use.
    """

    def __call__(self) -> int:
        numbers: Iterator[int] = vars(self).setdefault("numbers", count())
        return next(numbers)


def sender(send: Callable[[Any], None]) -> Callable[[Any], None]:
    """The writer of a task's scopes: passes on all writes but answers, which each scope stores."""

    def send_rest(writes: Any) -> None:
        if rest := without_answers(writes):
            send(rest)

    return send_rest


def without_answers(writes: Any) -> list[tuple[str, Any]]:
    """Writes of code in a scope, without the answers that the scope stores itself."""
    return [write for write in writes if write[0] != RESUME]
