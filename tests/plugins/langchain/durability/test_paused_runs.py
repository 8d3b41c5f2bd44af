"""Paused runs in a graph's store: stored, found, dropped, and swept up after their time."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from interpstack_langchain.durability import paused_runs
from interpstack_langchain.durability.paused_runs import KEPT_DAYS, PausedRun, Sweep


async def _call(on_loop: Callable[[], Awaitable[Any]], blocking: Callable[[], Any]) -> Any:
    return await on_loop()


async def _call_blocking(on_loop: Callable[[], Awaitable[Any]], blocking: Callable[[], Any]) -> Any:
    return blocking()


def _run(store: InMemoryStore, key: str = "eval", call: Any = _call) -> PausedRun:
    return PausedRun(store, key, key, b"key", call, Sweep())


@pytest.mark.parametrize("call", [_call, _call_blocking])
async def test_a_run_is_kept_found_and_dropped(call: Any) -> None:
    store = InMemoryStore()
    run = _run(store, call=call)
    assert await run.find() is None
    await run.keep("first")
    await run.keep("second")
    assert await _run(store, call=call).find() == "second"
    await run.drop()
    assert await _run(store, call=call).find() is None
    assert store.search(()) == []


async def test_a_run_that_was_not_found_is_not_dropped() -> None:
    store = InMemoryStore()
    await _run(store).keep("text")
    await _run(store).drop()
    assert await _run(store).find() == "text", "to look for it would take as long as to read it"


@pytest.mark.parametrize("mac", ["0" * 64, "é", None])
async def test_a_run_with_a_wrong_signature_is_not_taken(mac: str | None) -> None:
    store = InMemoryStore()
    await _run(store).keep("text")
    assert await _run(store).find() == "text"
    (found,) = store.search(("interpstack", "suspended"))
    store.put(found.namespace, found.key, {"text": "text", "mac": mac})
    assert await _run(store).find() is None


async def test_runs_that_nobody_went_on_with_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    await _run(store, "old").keep("old")
    later = time.time() + (KEPT_DAYS + 1) * 86400
    monkeypatch.setattr(
        paused_runs, "time", SimpleNamespace(time=lambda: later, monotonic=time.monotonic)
    )
    await _run(store, "new").keep("new")
    assert await _run(store, "old").find() is None
    assert await _run(store, "new").find() == "new"


def test_the_store_is_looked_through_now_and_then() -> None:
    sweep = Sweep()
    assert [sweep.due(), sweep.due()] == [True, False]
    assert sweep.last is not None
    sweep.last -= 3601
    assert sweep.due()
