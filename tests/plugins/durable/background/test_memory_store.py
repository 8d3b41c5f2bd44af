"""The store in memory keeps what it is given."""

from __future__ import annotations

from interpstack import Request
from interpstack_durable.api import MemoryJournalStore


async def test_entries_records_and_the_run_are_kept() -> None:
    store = MemoryJournalStore("key")
    assert (list(await store.load()), list(store.spent()), await store.suspended()) == (
        [],
        [],
        None,
    )
    await store.append(0, {"a": 1})
    await store.append(0, {"a": 2})
    await store.append_spent({"run": 1})
    await store.keep_suspended("image")
    await store.take_answers(None)
    assert list(await store.load()) == [{"a": 2}]
    assert list(store.spent()) == [{"run": 1}]
    assert await store.suspended() == "image"
    error = ValueError()
    assert await store.pause(None, [(Request(1, "a", None), error)], []) is error
