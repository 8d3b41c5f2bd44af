"""Paused runs in a graph's store: stored, found, dropped, and swept up after their time."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from interpstack_langchain.durability import paused_runs
from interpstack_langchain.durability.paused_runs import KEPT_DAYS, PausedRun, PausedRuns, Sweep


async def _call(on_loop: Callable[[], Awaitable[Any]], blocking: Callable[[], Any]) -> Any:
    return await on_loop()


async def _call_blocking(on_loop: Callable[[], Awaitable[Any]], blocking: Callable[[], Any]) -> Any:
    return blocking()


@pytest.mark.parametrize("call", [_call, _call_blocking])
async def test_a_run_is_kept_found_and_dropped(call: Any) -> None:
    runs = PausedRuns(InMemoryStore(), "eval", call, Sweep())
    assert await runs.find() is None
    await runs.keep({"text": "first"})
    await runs.keep({"text": "second"})
    assert await runs.find() == {"text": "second"}
    await runs.drop()
    assert await runs.find() is None


@pytest.mark.parametrize("mac", ["0" * 64, "é", None])
async def test_a_run_with_a_wrong_signature_is_not_taken(mac: str | None) -> None:
    runs = PausedRuns(InMemoryStore(), "eval", _call, Sweep())
    run = PausedRun(runs, "eval", b"key")
    await run.keep("text")
    assert await run.find() == "text"
    await runs.keep({"text": "text", "mac": mac})
    assert await run.find() is None


async def test_runs_that_nobody_went_on_with_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    await PausedRuns(store, "old", _call, Sweep()).keep({"text": "old"})
    later = time.time() + (KEPT_DAYS + 1) * 86400
    monkeypatch.setattr(
        paused_runs, "time", SimpleNamespace(time=lambda: later, monotonic=time.monotonic)
    )
    new = PausedRuns(store, "new", _call, Sweep())
    await new.keep({"text": "new"})
    assert await PausedRuns(store, "old", _call, Sweep()).find() is None
    assert await new.find() == {"text": "new"}


def test_the_store_is_looked_through_now_and_then() -> None:
    sweep = Sweep()
    assert [sweep.due(), sweep.due()] == [True, False]
    assert sweep.last is not None
    sweep.last -= 3601
    assert sweep.due()
