"""Recorders: what is drawn is written before it acts, with as few writes as will do."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Mapping
from typing import Any

import pytest

from interpstack import RunRecord
from interpstack_accounts.api import Account, Budget
from interpstack_accounts.recorders import (
    Recorder,
    record_drawn,
    record_drawn_soon,
    recorders,
)
from interpstack_accounts.records import read_spent

_WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


class _Store(RunRecord):
    """Keeps records; a write waits for `gate`, and fails while `broken` is set."""

    repeats = True

    def __init__(self) -> None:
        self.written: list[Mapping[str, Any]] = []
        self.begun = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.broken: Exception | None = None
        self.who: list[str] = []

    async def keep_amounts(self, record: Mapping[str, Any]) -> None:
        self.begun += 1
        self.who.append(_WHO.get())
        await self.gate.wait()
        if self.broken is not None:
            raise self.broken
        self.written.append(record)

    def drawn(self, kind: str = "requests") -> float:
        spent = read_spent(self.written)
        return 0 if spent is None else spent.drawn.get(kind, 0)


async def _until(holds: Any) -> None:
    while not holds():  # noqa: ASYNC110 - what it waits for has no event of its own
        await asyncio.sleep(0)


async def test_what_is_drawn_is_written_before_saving_returns() -> None:
    account, store = Account(Budget(requests=9)), _Store()
    recorder = Recorder(account, store)
    for count in (1, 2):
        account.spend({"requests": 1}, once=f"call {count}")
        await recorder.save()
        assert store.drawn() == count
    spent = read_spent(store.written)
    assert spent is not None
    assert set(spent.known) == {"call 1", "call 2"}  # each record has only what is new


async def test_one_write_covers_all_who_ask_while_another_is_made() -> None:
    account, store = Account(Budget()), _Store()
    recorder = Recorder(account, store)
    store.gate.clear()
    first = asyncio.ensure_future(recorder.save())
    await _until(lambda: store.begun)
    account.spend({"requests": 5})
    others = [asyncio.ensure_future(recorder.save()) for _ in range(20)]
    await asyncio.sleep(0)
    assert not any(other.done() for other in others)  # the running write does not cover them
    store.gate.set()
    await asyncio.gather(first, *others)
    assert store.begun == 2
    assert store.drawn() == 5


async def test_a_failed_write_fails_whoever_waits_and_the_next_one_writes_it_all() -> None:
    account, store = Account(Budget()), _Store()
    recorder = Recorder(account, store)
    account.spend({"requests": 1}, once="call 1")
    store.broken = OSError("the disk is full")
    with pytest.raises(OSError, match="the disk is full"):
        await recorder.save()
    store.broken = None
    await recorder.save()
    spent = read_spent(store.written)
    assert spent is not None
    assert (spent.drawn["requests"], tuple(spent.known)) == (1, ("call 1",))


async def test_a_caller_who_is_cancelled_does_not_stop_the_write() -> None:
    account, store = Account(Budget()), _Store()
    recorder = Recorder(account, store)
    account.spend({"requests": 1})
    store.gate.clear()
    saving = asyncio.ensure_future(recorder.save())
    await _until(lambda: store.begun)
    saving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saving
    store.gate.set()
    await _until(lambda: store.written)
    assert store.drawn() == 1


async def test_code_on_another_loop_waits_for_the_loop_of_the_run() -> None:
    account, store = Account(Budget()), _Store()
    recorder = Recorder(account, store)
    account.spend({"requests": 1})
    await asyncio.to_thread(lambda: asyncio.run(recorder.save()))
    assert store.drawn() == 1


def test_a_run_whose_loop_is_over_is_written_to_no_more() -> None:
    async def run() -> tuple[Recorder, _Store]:
        store = _Store()
        return Recorder(Account(Budget()), store), store

    recorder, store = asyncio.run(run())
    asyncio.run(recorder.save())
    recorder.save_soon()
    assert store.begun == 0


async def test_records_are_written_in_the_context_of_their_run() -> None:
    _WHO.set("the run")
    recorder = Recorder(Account(Budget()), store := _Store())
    _WHO.set("a call")
    await recorder.save()
    assert store.who == ["the run"]


async def test_all_cells_around_the_code_are_written_to_outermost_first() -> None:
    account = Account(Budget())
    outer, inner = Recorder(account, one := _Store()), Recorder(account, two := _Store())
    with outer.recording():
        with inner.recording():
            assert recorders() == (outer, inner)
            account.spend({"requests": 1})
            await record_drawn()
            assert (one.drawn(), two.drawn()) == (1, 1)
            account.spend({"requests": 1})
            record_drawn_soon()
            await _until(lambda: len(one.written) + len(two.written) == 4)
        assert recorders() == (outer,)
    assert recorders() == ()
    assert (one.drawn(), two.drawn()) == (2, 2)
