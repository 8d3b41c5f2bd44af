"""Scopes of interrupts and subgraphs inside one tool call.

LangGraph numbers the interrupts and the subgraphs of a task in the order in which they are made.
The calls of one eval run side by side, and after a pause only some of them run again, so each
gets a scope of its own: a namespace, a count of interrupts, and its answers.

All uses of LangGraph's internals for this are here; `tests/plugins/langchain/test_scopes.py`
names what breaks if they change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

import attrs
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal._constants import (
    CONFIG_KEY_CHECKPOINT_MAP,
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_RESUME_MAP,
    CONFIG_KEY_RESUMING,
    CONFIG_KEY_SCRATCHPAD,
    CONFIG_KEY_SEND,
    NS_SEP,
    NULL_TASK_ID,
    RESUME,
)
from langgraph._internal._scratchpad import PregelScratchpad
from langgraph.types import Interrupt, interrupt

__all__ = ["Checkpoint", "Scope", "answers_given", "ask", "entered", "has_plain_answer", "scope"]


@attrs.frozen
class Checkpoint:
    """Where the writes of the running step are kept.

    Attributes:
        saver: The graph's checkpointer.
        config: Identifies the checkpoint the step started from.
        root: Identifies that of the outermost graph, which holds the answer of a resume.
        task: Namespace of the running task.
        resuming: Whether the run goes on from a stored checkpoint, so that writes may be there.
    """

    saver: Any
    config: RunnableConfig
    root: RunnableConfig
    task: str
    resuming: bool

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Checkpoint | None:
        """That of a task's configuration; `None` where nothing is kept."""
        conf = config.get("configurable", {})
        saver, thread = conf.get(CONFIG_KEY_CHECKPOINTER), conf.get("thread_id")
        ids = conf.get(CONFIG_KEY_CHECKPOINT_MAP, {})
        task = str(conf.get(CONFIG_KEY_CHECKPOINT_NS, ""))
        graph = task.rpartition(NS_SEP)[0]
        if saver is None or isinstance(saver, bool) or thread is None or graph not in ids:
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
        return cls(saver, at(graph), root, task, bool(conf.get(CONFIG_KEY_RESUMING)))

    @property
    def id(self) -> str:
        """Identifies the checkpoint among all checkpoints."""
        conf = self.config["configurable"]
        return "|".join((conf["thread_id"], conf["checkpoint_ns"], conf["checkpoint_id"]))

    def writes(self, found: Any) -> list[tuple[str, str, Any]]:
        """The writes of a checkpoint as its saver returned it, in order."""
        return [] if found is None else list(found.pending_writes or [])

    @staticmethod
    def answered() -> tuple[list[tuple[str, Any]], str]:
        """The write, and its task, that takes the place of a plain answer which was used.

        Such an answer stays in the checkpoint and would be taken for the next question, too.
        """
        return [(RESUME, None)], NULL_TASK_ID


@attrs.define(eq=False)
class Scope:
    """One scope.

    Attributes:
        name: Unique in its task, the same in every run of it.
        answers: What its interrupts were answered so far, in order.
        configurable: To be merged into the configuration of what runs in it.
        took_plain: Whether it took the answer of a resume that names no interrupt.
    """

    name: str
    answers: list[Any]
    configurable: dict[str, Any] = attrs.field(factory=dict)
    took_plain: bool = False

    @property
    def id(self) -> str:
        """Of its next interrupt."""
        return _id(self.configurable[CONFIG_KEY_CHECKPOINT_NS], len(self.answers))


def scope(
    config: Mapping[str, Any],
    name: str,
    answers: list[Any],
    given: Mapping[str, Any] | None = None,
    *,
    plain: bool = True,
) -> Scope:
    """A scope in a task.

    Args:
        config: The task's configuration.
        name: Unique in the task, the same in every run of it.
        answers: What the scope's interrupts were answered in earlier runs.
        given: Answers of this resume, by the interrupts' ids; the configuration's if left out.
        plain: Whether it may take the answer of a resume that names no interrupt.
    """
    conf = config.get("configurable", {})
    outer: PregelScratchpad = conf[CONFIG_KEY_SCRATCHPAD]
    namespace = f"{conf[CONFIG_KEY_CHECKPOINT_NS]}{NS_SEP}{name}"
    given = dict(conf.get(CONFIG_KEY_RESUME_MAP) or {}) if given is None else dict(given)
    answers = list(answers)
    if (ours := _id(namespace, len(answers))) in given:
        answers.append(given[ours])
    made = Scope(name, answers)

    def plain_answer(consume: bool = False) -> Any:
        answer = outer.get_null_resume(consume) if plain else None
        made.took_plain = made.took_plain or (consume and answer is not None)
        return answer

    made.configurable = {
        CONFIG_KEY_CHECKPOINT_NS: namespace,
        CONFIG_KEY_RESUME_MAP: given,
        CONFIG_KEY_SEND: _without_answers(conf[CONFIG_KEY_SEND]),
        CONFIG_KEY_SCRATCHPAD: PregelScratchpad(
            step=outer.step,
            stop=outer.stop,
            call_counter=_counter(),
            interrupt_counter=_counter(),
            get_null_resume=plain_answer,
            resume=answers,
            subgraph_counter=_counter(),
        ),
    }
    return made


@contextmanager
def entered(config: Mapping[str, Any], inner: Scope) -> Iterator[None]:
    """Run the block in a scope of the task whose configuration is `config`."""
    merged = {**config, "configurable": {**config.get("configurable", {}), **inner.configurable}}
    token = var_child_runnable_config.set(merged)  # type: ignore[arg-type]
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def has_plain_answer(config: Mapping[str, Any]) -> bool:
    """Whether this resume has an answer that names no interrupt."""
    return config["configurable"][CONFIG_KEY_SCRATCHPAD].get_null_resume(False) is not None


def answers_given(config: Mapping[str, Any]) -> dict[str, Any]:
    """The answers of this resume, by the interrupts' ids."""
    return dict(config.get("configurable", {}).get(CONFIG_KEY_RESUME_MAP) or {})


def ask(config: Mapping[str, Any], inner: Scope, value: Any) -> Any:
    """Interrupt in a scope.

    Raises:
        GraphInterrupt: There is no answer yet.
    """
    with entered(config, inner):
        return interrupt(value)


def _id(namespace: str, answered: int) -> str:
    """The id that LangGraph gives to an interrupt in a namespace with so many answers."""
    where = f"{namespace}{NS_SEP}{answered}" if answered else namespace
    return Interrupt.from_ns(None, where).id


def _counter() -> Callable[[], int]:
    return count().__next__


def _without_answers(send: Callable[[Any], Any]) -> Callable[[Any], None]:
    def send_rest(writes: Any) -> None:
        rest = [write for write in writes if write[0] != RESUME]
        if rest:
            send(rest)

    return send_rest
