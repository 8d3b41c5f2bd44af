"""Writes of the checkpoint that an eval's step started from.

LangGraph stores the writes of a step's tasks until the step is over, and returns them when the step
is resumed. An eval's journal is stored in the same way, as writes of its own tasks, one for each
entry. They are written directly with the checkpointer and awaited, so that the guest receives only
recorded answers. LangGraph's serializer replaces half of a surrogate pair by `?`, which another run
would take for another answer, so entries are written in the form of `to_storable`.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from typing import Any, Final

import attrs
from langchain_core.runnables import RunnableConfig

from interpstack import call_blocking
from interpstack.values import from_storable, to_storable
from interpstack_durable.api import UnreadableJournal, reporting_damage
from interpstack_langchain.langgraph_internals.call_scopes import Checkpoint, checkpoint_key

__all__ = [
    "JOURNAL_CHANNEL",
    "CheckpointWrites",
    "RememberedEntries",
    "eval_key",
    "recorded_entries",
    "recorded_notes",
    "recorded_spending",
    "sound_entries",
    "task_of",
]

#: The channel that entries are written to; no graph has it.
JOURNAL_CHANNEL: Final = "interpreter_ledger"
#: Seconds to wait for LangGraph to store the checkpoint that entries are written to.
_CHECKPOINT_SECONDS: Final = 10.0
#: Evals whose entries are remembered at once.
_MAX_REMEMBERED: Final = 256


def eval_key(checkpoint: RunnableConfig, name: str) -> str:
    """Identifies an eval among all evals, the same in every run of it.

    Args:
        checkpoint: Identifies the checkpoint that the eval's step started from.
        name: The name of the eval's tool call among the calls of its message.
    """
    return f"{checkpoint_key(checkpoint)}|{name}"


def recorded_entries(key: str, writes: Iterable[tuple[str, str, Any]]) -> list[Mapping[str, Any]]:
    """The entries of an eval's journal, in order.

    Args:
        key: The eval's.
        writes: The writes of the checkpoint from which the eval's step started: tasks, channels,
            values.

    Raises:
        UnreadableJournal: A text of an entry is malformed.
    """
    found = {task: value for task, channel, value in writes if channel == JOURNAL_CHANNEL}
    entries: list[Mapping[str, Any]] = []
    while isinstance(entry := found.get(task_of(key, len(entries))), Mapping):
        with reporting_damage():
            entries.append(from_storable(entry))
    return entries


def sound_entries(key: str, writes: Iterable[tuple[str, str, Any]]) -> list[Mapping[str, Any]]:
    """The entries of an eval's journal, in order, for a run that continues the eval.

    Args:
        key: The eval's.
        writes: See `recorded_entries`.

    Raises:
        UnreadableJournal: An entry is missing or damaged, and later ones are not: calls that they
            record would be made again.
    """
    found = [(task, value) for task, channel, value in writes if channel == JOURNAL_CHANNEL]
    entries = recorded_entries(key, ((task, JOURNAL_CHANNEL, value) for task, value in found))
    others = {task for task, value in found if not (isinstance(value, Mapping) and "of" in value)}
    if len(others) > len(entries):  # of other evals, or of this one
        later = range(len(entries), 2 * len(found) + 1)
        if any(task_of(key, number) in others for number in later):
            raise UnreadableJournal(
                f"the journal of this eval is damaged: its entry {len(entries)} is missing or "
                "malformed. Nothing was done, and the eval is unchanged"
            )
    return entries


def recorded_notes(names: Set[str], writes: Iterable[tuple[str, str, Any]]) -> dict[str, list[Any]]:
    """The notes of these names in the journals of all evals of a step.

    Args:
        names: The names.
        writes: See `recorded_entries`.

    Raises:
        UnreadableJournal: A text of an entry is malformed.
    """
    found: dict[str, list[Any]] = {}
    with reporting_damage():
        for _, channel, value in writes:
            notes = value.get("notes") if isinstance(value, Mapping) else None
            if channel == JOURNAL_CHANNEL and isinstance(notes, Mapping):
                kept = from_storable(notes)
                for name in names & kept.keys():
                    found.setdefault(name, []).append(kept[name])
    return found


def recorded_spending(key: str, writes: Iterable[tuple[str, str, Any]]) -> list[Mapping[str, Any]]:
    """The records of amounts that an eval drew on budgets, in no order.

    Args:
        key: The eval's.
        writes: See `recorded_entries`.

    Raises:
        UnreadableJournal: One of them is damaged.
    """
    with reporting_damage():
        found = [value for _, channel, value in writes if channel == JOURNAL_CHANNEL]
        ours = [value for value in map(from_storable, found) if value.get("of") == key]
        return [value["spent"] for value in ours]


def task_of(key: str, index: int | str) -> str:
    """The task that writes an entry."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{key}|{index}"))


class RememberedEntries:
    """Entries of evals that ran in this process and have not ended; the oldest are dropped first.

    Where LangGraph runs a step again in the same process, it does not say so.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[str, dict[int, Mapping[str, Any]]] = OrderedDict()

    def of(self, key: str) -> Mapping[int, Mapping[str, Any]]:
        """Entries of an eval, by their places in its journal."""
        return self._entries.get(key, {})

    def note(self, key: str, index: int, entry: Mapping[str, Any]) -> None:
        """Remember an entry that is about to be written."""
        self._entries.setdefault(key, {})[index] = entry
        self._entries.move_to_end(key)
        while len(self._entries) > _MAX_REMEMBERED:
            self._entries.popitem(last=False)

    def drop(self, key: str, index: int) -> None:
        """Forget one entry, which could not be stored."""
        self._entries.get(key, {}).pop(index, None)

    def forget(self, key: str) -> None:
        """Forget an eval that has ended."""
        self._entries.pop(key, None)


@attrs.define(eq=False, repr=False)
class CheckpointWrites:
    """The checkpointer of a graph, as one eval reads it and writes to it.

    Attributes:
        checkpoint: The checkpoint that the eval's step started from.
        is_async: Whether the checkpointer is used on the event loop of the caller.
    """

    checkpoint: Checkpoint
    is_async: bool
    _stored: bool = attrs.field(default=False, init=False)

    async def read(self) -> list[tuple[str, str, Any]]:
        """The writes of the checkpoint, in order: tasks, channels and values."""
        return self.checkpoint.writes(await self.stored())

    async def stored(self, config: RunnableConfig | None = None) -> Any:
        """The checkpoint, or another, as it is stored; `None` if it is not."""
        saver, config = self.checkpoint.saver, config or self.checkpoint.config
        found = await self.call(lambda: saver.aget_tuple(config), lambda: saver.get_tuple(config))
        self._stored = self._stored or found is not None
        return found

    async def is_deleted(self) -> bool:
        """Whether the checkpoint was stored once and is no more: its thread was deleted."""
        return self._stored and await self.stored() is None

    async def put(self, writes: list[tuple[str, Any]], task: str) -> None:
        """Write to the checkpoint as a task; returns once that is safe."""
        stored = [(channel, to_storable(value)) for channel, value in writes]
        await self._put(self.checkpoint.config, stored, task)

    async def take_plain_answer(self) -> None:
        """Have a plain answer, which was used, not be taken for the next question, too."""
        await self._put(self.checkpoint.root, *self.checkpoint.answered())

    async def call(self, on_loop: Callable[[], Awaitable[Any]], blocking: Callable[[], Any]) -> Any:
        """Use the checkpointer, or a store of the graph, in the way that the graph does."""
        return await (on_loop() if self.is_async else call_blocking(blocking))

    async def _put(self, config: RunnableConfig, writes: list[tuple[str, Any]], task: str) -> None:
        saver = self.checkpoint.saver
        await self.call(
            lambda: saver.aput_writes(config, writes, task),
            lambda: saver.put_writes(config, writes, task),
        )

    async def wait_until_stored(self) -> list[tuple[str, str, Any]]:
        """Return once the checkpoint that the entries are written to is stored.

        LangGraph stores the checkpoint in the background. If the process died before that, the
        model would be called again, and the effects of its code would be repeated under other ids.

        Returns:
            Its writes, as `read` does; none if it was read before.
        """
        if self._stored or self.checkpoint.stored_at_exit:
            return []
        until = time.monotonic() + _CHECKPOINT_SECONDS
        pause = 0.001
        while (found := await self.stored()) is None:
            if time.monotonic() > until:
                raise TimeoutError(
                    f"the checkpoint of this step was not stored within {_CHECKPOINT_SECONDS:g} s, "
                    "so calls from code could not be recorded; no call was made. Check the "
                    "checkpointer, then continue the thread with invoke(None)"
                )
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.1)
        return self.checkpoint.writes(found)
