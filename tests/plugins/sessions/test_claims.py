"""Claims: waiting for a busy session, renewing, and giving it free."""

from __future__ import annotations

import asyncio

import pytest
from away_store import AwayStore

from interpstack_sessions.claims import Claim, Terms
from interpstack_state import BlobStore, MemoryStore, StateBusy


def _terms(store: BlobStore, claim: float = 60.0, patience: float = 0.0) -> Terms:
    return Terms(lambda: store, claim, patience)


async def test_each_claim_has_a_token_of_its_own() -> None:
    claim = Claim(_terms(MemoryStore(), 0.1), "a")
    tokens = set()
    for _ in range(3):
        await claim.take()
        tokens.add(claim.token)
        assert await claim.renew(0)
    assert len(tokens) == 3


async def test_without_patience_a_busy_session_is_an_error_at_once() -> None:
    store = MemoryStore()
    store.claim("a", "other", 60)
    claim = Claim(_terms(store), "a")
    with pytest.raises(StateBusy):
        await claim.take()
    assert claim.token == ""


async def test_a_patient_claim_waits_until_the_session_is_free() -> None:
    store = MemoryStore()
    store.claim("a", "other", 60)
    store.save("a", "other", b"state", 60)
    taking = asyncio.create_task(Claim(_terms(store, patience=60), "a").take())
    await asyncio.sleep(0.1)
    assert not taking.done()
    store.renew("a", "other", 0)
    assert await taking == b"state"


async def test_patience_ends() -> None:
    store = MemoryStore()
    store.claim("a", "other", 60)
    with pytest.raises(StateBusy):
        await Claim(_terms(store, patience=0.05), "a").take()


async def test_a_lost_claim_says_so_and_forgets_its_token() -> None:
    store = MemoryStore()
    claim = Claim(_terms(store), "a")
    await claim.take()
    store.renew("a", claim.token, 0)
    store.claim("a", "other", 60)
    assert not await claim.save(b"stale", keep=True)
    assert claim.token == ""
    assert not await claim.renew()


async def test_a_claim_is_renewed_while_it_is_used() -> None:
    store = MemoryStore()
    claim = Claim(_terms(store, 0.3), "a")
    await claim.take()
    async with claim.renewed(lambda: pytest.fail("it was not lost")):
        for _ in range(8):
            await asyncio.sleep(0.1)
            with pytest.raises(StateBusy):
                store.claim("a", "other", 60)


async def test_the_loser_of_a_claim_in_use_is_notified_once() -> None:
    store = MemoryStore()
    claim = Claim(_terms(store, 0.3), "a")
    await claim.take()
    store.renew("a", claim.token, 0)
    store.claim("a", "other", 60)
    lost = asyncio.Event()
    async with claim.renewed(lost.set):
        await lost.wait()
    assert claim.token == ""


async def test_a_store_that_is_away_for_a_while_is_no_loss(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = AwayStore()
    claim = Claim(_terms(store, 0.3), "a")
    await claim.take()
    store.away = True
    async with claim.renewed(lambda: pytest.fail("it was not lost")):
        while "was not renewed: the store is away" not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    store.away = False
    assert await claim.renew()


async def test_a_claim_that_is_cancelled_leaves_the_session_free() -> None:
    store = MemoryStore()
    store.claim("a", "other", 60)
    taking = asyncio.create_task(Claim(_terms(store, patience=60), "a").take())
    await asyncio.sleep(0.05)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    store.renew("a", "other", 0)
    assert store.claim("a", "third", 60) is None


async def test_the_child_of_a_fork_has_no_claim() -> None:
    claim = Claim(_terms(MemoryStore()), "a")
    await claim.take()
    claim.start_anew()
    assert not await claim.renew()
    await claim.terms.run(lambda: None)
