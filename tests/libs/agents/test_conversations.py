"""One process claims a conversation, whose records, data and journals a store keeps."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError, call_blocking
from interpstack.threads import HANDLER_THREADS
from interpstack_agents import Conversations
from interpstack_state import (
    EncryptedStateStore,
    FileStore,
    MemoryStore,
    SQLiteStore,
    StateBusy,
    StateRejected,
    StateStore,
    StateTaken,
)

RECORD = {"sequence": 1, "previous": b"", "data": b"\x00\xff", "id": "a", "$odd": {"$bytes": "x"}}


@pytest.fixture(params=["memory", "sqlite", "encrypted"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    made: StateStore = MemoryStore()
    if request.param == "sqlite":
        made = SQLiteStore(tmp_path / "evals.db")
    elif request.param == "encrypted":
        made = EncryptedStateStore(made, b"k" * 32)
    yield made
    made.close()


async def test_records_and_data_are_stored_in_one_step(store: Any) -> None:
    async with Conversations(store).claim("c") as claimed:
        assert (claimed.records, claimed.data) == ([], {})
        claimed.data["seen"] = ["é"]
        await claimed.save(RECORD)
    async with Conversations(store).claim("c") as claimed:
        assert claimed.records == [RECORD]
        assert claimed.data == {"seen": ["é"]}
        saved = claimed.saved("turn")
        assert (saved.newest, saved.turn) == (1, "turn")
    async with Conversations(store).claim("d") as claimed:
        assert claimed.records == []


async def test_a_conversation_without_state_leaves_no_trace(store: Any) -> None:
    async with Conversations(store).claim("c"):
        pass
    assert list(store.blobs()) == []


async def test_a_journal_outlives_the_claim_on_its_conversation(store: Any) -> None:
    async with Conversations(store).claim("c") as claimed:
        await claimed.save()
        journal = claimed.journal("e")
        assert await journal.load() == []
        await journal.append(0, {"a": 1})
        await journal.append(1, {"b": "é"})
        await journal.append(1, {"b": "é"})
    async with Conversations(store).claim("c") as claimed:
        journal = claimed.journal("e")
        assert await journal.load() == [{"a": 1}, {"b": "é"}]
        await journal.append(2, {})
        await journal.delete()
        assert await claimed.journal("e").load() == []


async def test_conversations_wait_for_each_other_in_one_process_and_between_stores(
    store: Any,
) -> None:
    order: list[int] = []

    async def use(conversations: Conversations, number: int) -> None:
        async with conversations.claim("c") as claimed:
            order.append(number)
            await asyncio.sleep(0.01)
            order.append(number)
            claimed.data["n"] = claimed.data.get("n", 0) + 1
            await claimed.save()

    one, two = Conversations(store), Conversations(store)
    await asyncio.gather(*(use(each, n) for n, each in enumerate((one, one, two, two))))
    assert order[::2] == order[1::2]
    async with one.claim("c") as claimed:
        assert claimed.data == {"n": 4}


async def test_a_claim_is_renewed_while_the_conversation_is_claimed(store: Any) -> None:
    async with Conversations(store, lease_seconds=0.3).claim("c"):
        await asyncio.sleep(0.6)
        with pytest.raises(StateBusy):
            store.claim("conversation:c", "other", 1)


async def test_a_dead_process_is_waited_for_no_longer_than_its_claim(store: Any) -> None:
    store.claim("conversation:c", "dead", 0.3)
    async with asyncio.timeout(5), Conversations(store).claim("c") as claimed:
        assert claimed.data == {}


async def test_a_process_that_keeps_its_claim_makes_others_give_up(store: Any) -> None:
    store.claim("conversation:c", "alive", 60)
    with pytest.raises(StateBusy):
        async with Conversations(store, lease_seconds=0.2).claim("c"):
            raise AssertionError("another process has claimed it")


async def test_who_lost_a_conversation_can_write_nothing_of_it() -> None:
    store = MemoryStore()
    async with Conversations(store, lease_seconds=0.05).claim("c") as claimed:
        journal = claimed.journal("e")
        await journal.append(0, {})
        store.delete("conversation:c")
        store.claim("conversation:c", "other", 60)
        store.claim(journal.key, "other", 60)
        with pytest.raises(StateTaken):
            await claimed.save()
        with pytest.raises(StateTaken):
            await journal.append(1, {})
    with pytest.raises(StateBusy):
        store.claim("conversation:c", "third", 1)


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"{", "is damaged"),
        (b"\xff", "is damaged"),
        (b"[]", "is damaged"),
        (b"{}", "is damaged"),
        (b'{"form": 1, "records": 1, "data": {}}', "is damaged"),
        (b'{"form": 1, "records": [{"sequence": "1"}], "data": {}}', "is damaged"),
        (b'{"form": 1, "records": [], "data": []}', "is damaged"),
        (b'{"form": 1, "records": [{"sequence": 1, "data": {"$bytes": "!"}}]}', "is damaged"),
        (
            b'{"form": 9, "records": [], "data": {}}',
            "has the form 9; this release reads the form 1",
        ),
    ],
)
async def test_a_conversation_of_another_form_is_refused(blob: bytes, message: str) -> None:
    store = MemoryStore()
    store.create("conversation:c", blob)
    with pytest.raises(StateRejected, match=message):
        async with Conversations(store).claim("c"):
            raise AssertionError("it cannot be read")
    state = store.read("conversation:c")
    assert state is not None
    assert state.data == blob


def test_stores_and_seconds_are_checked(tmp_path: Path) -> None:
    for wrong in (FileStore(tmp_path), 5, "file:///tmp", None):
        with pytest.raises(ConfigurationError):
            Conversations(wrong)  # type: ignore[arg-type]
    for seconds in (0, -1, True, "5", 10**6):
        with pytest.raises(ConfigurationError, match="lease_seconds takes a number above 0"):
            Conversations(MemoryStore(), lease_seconds=seconds)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["", "a\0b", "x" * 2000, "\ud800"])
async def test_a_key_that_no_store_takes_is_refused(key: str) -> None:
    with pytest.raises(ConfigurationError):
        async with Conversations(MemoryStore()).claim(key):
            raise AssertionError("it is no key")


async def test_a_store_that_was_named_by_its_url_is_closed(tmp_path: Path) -> None:
    conversations = Conversations(f"{tmp_path}/evals.db")
    async with conversations.claim("c") as claimed:
        await claimed.save(RECORD)
    conversations.close()
    conversations.close()
    own = SQLiteStore(tmp_path / "evals.db", space="conversations")
    async with Conversations(own).claim("c") as claimed:
        assert claimed.records == [RECORD]
    Conversations(own).close()  # it is the caller's
    own.close()


async def test_a_claim_is_renewed_while_tools_block_all_threads_of_the_process(
    tmp_path: Path,
) -> None:
    """Else another process could take the conversation over, and repeat its effects."""
    go_on = threading.Event()
    with SQLiteStore(tmp_path / "evals.db") as store, SQLiteStore(tmp_path / "evals.db") as other:
        conversations = Conversations(store, lease_seconds=0.6)
        async with conversations.claim("c") as claimed:
            await claimed.save()
            waiting = [call_blocking(go_on.wait) for _ in range(HANDLER_THREADS)]
            tools = asyncio.gather(*waiting)
            try:
                await asyncio.sleep(1.5)
                with pytest.raises(StateBusy):
                    other.claim("conversation:c", "other", 1)
                await claimed.save()
            finally:
                go_on.set()
                await tools
        conversations.close()
