"""Tests of interpstack_langchain.durability.checkpoint_writes."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import attrs
import pytest

from interpstack_durable.api import UnreadableJournal
from interpstack_langchain.durability import checkpoint_writes
from interpstack_langchain.durability.checkpoint_writes import (
    JOURNAL_CHANNEL,
    CheckpointWrites,
    eval_key,
    recorded_entries,
    recorded_spending,
    sound_entries,
    task_of,
)


def written(key: str, index: int, value: Any) -> tuple[str, str, Any]:
    return task_of(key, index), JOURNAL_CHANNEL, value


class Saver:
    """A checkpointer that notes who uses it, and has its checkpoint from some look on."""

    def __init__(self, looks: int = 1) -> None:
        self.left = looks
        self.put: list[Any] = []
        self.threads: set[int] = set()

    def get_tuple(self, config: Any) -> Any:
        self.threads.add(threading.get_ident())
        self.left -= 1
        return None if self.left > 0 else {"stored": config}

    def put_writes(self, config: Any, writes: Any, task: str) -> None:
        self.threads.add(threading.get_ident())
        self.put.append((config, writes, task))

    async def aget_tuple(self, config: Any) -> Any:
        return self.get_tuple(config)

    async def aput_writes(self, config: Any, writes: Any, task: str) -> None:
        self.put_writes(config, writes, task)


@attrs.define
class Stored:
    """The checkpoint of a step."""

    saver: Saver
    stored_at_exit: bool = False
    config: str = "here"
    root: str = "root"

    def writes(self, found: Any) -> Any:
        return [] if found is None else [("task", "channel", found["stored"])]

    def answered(self) -> Any:
        return [("resume", None)], "the root's task"


def of(saver: Saver, is_async: bool = True, **options: Any) -> CheckpointWrites:
    return CheckpointWrites(Stored(saver, **options), is_async)  # type: ignore[arg-type]


def test_an_eval_has_one_key_in_every_run() -> None:
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c"}}
    keys = {eval_key(config, name) for name in ("one", "one", "two")}
    assert len(keys) == 2
    other = {"configurable": {**config["configurable"], "checkpoint_id": "d"}}
    assert eval_key(other, "one") not in keys


def test_entries_come_in_their_order_up_to_the_first_gap() -> None:
    writes = [
        written("key", 1, {"n": 1}),
        written("other", 0, {"n": "another eval's"}),
        (task_of("key", 2), "messages", {"n": "another channel's"}),
        written("key", 0, {"n": 0}),
        written("key", 3, {"n": "after a gap"}),
    ]
    assert recorded_entries("key", writes) == [{"n": 0}, {"n": 1}]
    assert recorded_entries("nobody", writes) == []


def test_a_journal_that_continues_has_no_gap() -> None:
    others = [written("other", 0, {"n": 7}), ("x", JOURNAL_CHANNEL, {"spent": {}, "of": "key"})]
    writes = [written("key", n, {"n": n}) for n in range(4)]
    assert sound_entries("key", [*others, *writes]) == [{"n": n} for n in range(4)]
    assert sound_entries("nobody", [*others, *writes]) == []
    for number in range(3):
        for damage in ([], [written("key", number, None)], [written("key", number, [1])]):
            damaged = [*writes[:number], *damage, *writes[number + 1 :]]
            assert recorded_entries("key", damaged) == [{"n": n} for n in range(number)]
            with pytest.raises(UnreadableJournal, match=f"its entry {number} is missing"):
                sound_entries("key", [*others, *damaged])


def test_damaged_records_of_spending_are_refused() -> None:
    sound = ("x", JOURNAL_CHANNEL, {"spent": {"run": 1}, "of": "key"})
    assert recorded_spending("key", [sound]) == [{"run": 1}]
    for value in (None, b"", [], {"of": "key"}):
        with pytest.raises(UnreadableJournal, match="the journal of this eval is damaged"):
            recorded_spending("key", [sound, ("y", JOURNAL_CHANNEL, value)])


def test_tasks_of_entries_differ() -> None:
    assert len({task_of(key, n) for key in ("a", "b") for n in (0, 1, "x")}) == 6


@pytest.mark.parametrize("is_async", [True, False])
async def test_it_is_used_where_the_graph_uses_it(is_async: bool) -> None:
    saver = Saver()
    writes = of(saver, is_async)
    assert await writes.read() == [("task", "channel", "here")]
    await writes.put([("a", 1)], "one")
    await writes.take_plain_answer()
    assert saver.put == [
        ("here", [("a", 1)], "one"),
        ("root", [("resume", None)], "the root's task"),
    ]
    assert (saver.threads == {threading.get_ident()}) == is_async


async def test_what_is_not_stored_yet_is_waited_for() -> None:
    saver = Saver(looks=4)
    await of(saver).wait_until_stored()
    assert saver.left == 0


async def test_what_was_seen_or_is_stored_at_the_exit_is_not_looked_for() -> None:
    saver = Saver()
    writes = of(saver)
    await writes.read()
    await writes.wait_until_stored()
    await of(saver, stored_at_exit=True).wait_until_stored()
    assert saver.left == 0


async def test_a_checkpoint_that_never_comes_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_writes, "_CHECKPOINT_SECONDS", 0.05)
    saver = Saver(looks=10**9)
    async with asyncio.timeout(60):
        with pytest.raises(TimeoutError, match="no call was made"):
            await of(saver).wait_until_stored()
    assert saver.put == []
