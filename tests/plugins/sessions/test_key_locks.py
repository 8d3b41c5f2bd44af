"""Keys held for blocks: by one at a time, to the end of the block, and no longer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from away_store import AwayStore

from interpstack import ConfigurationError
from interpstack_sessions.api import KeyLocks
from interpstack_state import MemoryStore, StateBusy, StateTaken, StoreUnavailable


async def test_blocks_of_one_key_run_one_after_another() -> None:
    store, inside, most = MemoryStore(), 0, 0

    async def turn(keys: KeyLocks) -> None:
        nonlocal inside, most
        async with keys.lock("talk"):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.01)
            inside -= 1

    servers = [KeyLocks(store, patience_seconds=60) for _ in range(2)]
    await asyncio.gather(*(turn(servers[n % 2]) for n in range(8)))
    assert most == 1


async def test_a_locked_key_is_busy_and_free_after_the_block() -> None:
    keys = KeyLocks(MemoryStore(), patience_seconds=0)

    async def fail() -> None:
        async with keys.lock("a"), keys.lock("b"):
            with pytest.raises(StateBusy):
                await keys.lock("a").__aenter__()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with keys.lock("a"), keys.lock("b"):
        pass


async def test_a_block_whose_key_was_taken_is_cancelled() -> None:
    store = MemoryStore()
    keys = KeyLocks(store, claim_seconds=0.3)

    async def lose() -> None:
        async with keys.lock("talk"):
            store.delete("talk")  # as after a pause longer than the claim
            store.claim("talk", "another", 60)
            await asyncio.Event().wait()

    with pytest.raises(StateTaken):
        await lose()
    with pytest.raises(StateBusy):  # the claim of the other was not given back
        store.claim("talk", "third", 60)


async def test_a_block_is_cancelled_when_its_claim_ends_because_the_store_is_away() -> None:
    store, ended = AwayStore(), False
    keys = KeyLocks(store, claim_seconds=0.3)

    async def hold() -> None:
        nonlocal ended
        async with keys.lock("talk"):
            await asyncio.sleep(0.6)  # renewed meanwhile
            store.away = True
            try:
                await asyncio.Event().wait()
            finally:
                with pytest.raises(StateBusy):  # no other process has it yet
                    store.claim("talk", "another", 60)
                ended = True

    with pytest.raises(StoreUnavailable, match="'talk' was not renewed in time"):
        await hold()
    assert ended


async def test_a_block_outlives_a_store_that_is_away_for_a_moment() -> None:
    store = AwayStore()
    async with KeyLocks(store, claim_seconds=1).lock("talk"):
        store.away = True
        await asyncio.sleep(0.5)
        store.away = False
        await asyncio.sleep(1)


async def test_a_time_limit_of_the_block_is_its_own() -> None:
    keys = KeyLocks(MemoryStore(), patience_seconds=0)
    with pytest.raises(TimeoutError):
        await _timed_out(keys)
    async with keys.lock("talk"):
        pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"store": "memory:"}, "store takes a BlobStore"),
        ({"claim_seconds": 0}, "claim_seconds takes a number from 0.1"),
        ({"patience_seconds": -1}, "patience_seconds takes a number from 0"),
    ],
)
def test_wrong_settings_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        KeyLocks(**{"store": MemoryStore(), **options})


async def test_a_wrong_key_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="the key of a stored state"):
        await KeyLocks(MemoryStore()).lock("").__aenter__()


async def _timed_out(keys: KeyLocks) -> None:
    async with keys.lock("talk"):
        raise TimeoutError
