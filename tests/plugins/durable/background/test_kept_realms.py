"""Kept realms of cells that nobody will continue."""

from __future__ import annotations

import pytest

from interpstack import BridgeSet, Cell, Image, InterpreterStack, Limits
from interpstack_durable.api import MemoryJournalStore, Suspension
from interpstack_durable.background.kept_realms import free_kept_realm
from interpstack_durable.suspensions import suspension_text
from interpstack_v8.engine import V8Engine


async def _keep(store: MemoryJournalStore, image: Image) -> None:
    suspension = Suspension(image=image, steps=0, asked=(), open=(), made={})
    await store.keep_suspended(suspension_text(suspension))


@pytest.fixture
def store() -> MemoryJournalStore:
    return MemoryJournalStore("cell")


async def test_the_realm_is_freed_once(store: MemoryJournalStore) -> None:
    engine = V8Engine()
    realm = engine.open(Limits(), BridgeSet())
    realm.start(Cell(source="await new Promise(() => 0)", seed=1)).poll(1e9, 5)
    await _keep(store, realm.image())
    assert len(engine._kept) == 1
    async with InterpreterStack(engine) as stack:
        for _ in range(2):
            await free_kept_realm(stack, await store.suspended())
            assert len(engine._kept) == 0


async def test_a_cell_without_a_suspended_run_has_none(store: MemoryJournalStore) -> None:
    async with InterpreterStack("v8") as stack:
        await free_kept_realm(stack, await store.suspended())


async def test_images_of_other_engines_are_not_opened(store: MemoryJournalStore) -> None:
    await _keep(store, Image("quickjs", "no such base", b"data"))
    async with InterpreterStack("quickjs") as stack:
        await free_kept_realm(stack, await store.suspended())
    assert await store.suspended() is not None
