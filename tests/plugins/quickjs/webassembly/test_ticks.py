"""Ticks: a guest that asks nobody is stopped all the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from interpstack_quickjs.guest import Guest
from interpstack_quickjs.webassembly.machine import Trapped


@pytest.fixture
def guest() -> Iterator[Guest]:
    made = Guest(16 * 2**20)
    with made.runtime.ticker:
        yield made
    made.close()


_ENDLESS = "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)"  # asks nobody


def test_what_asks_nobody_is_stopped_by_the_time_it_computes(guest: Guest) -> None:
    guest.set_time(0.3)
    begun = time.thread_time()
    with guest.runtime.ticker, pytest.raises(Trapped) as caught:
        guest.evaluate(_ENDLESS)
    assert caught.value.by_clock
    assert time.thread_time() - begun < 1.5  # of this thread alone, however busy the machine is


def test_what_asks_nobody_is_interrupted(guest: Guest) -> None:
    guest.set_time(60)
    begun = time.thread_time()
    timer = threading.Timer(0.1, guest.interrupt)
    timer.start()
    with guest.runtime.ticker, pytest.raises(Trapped) as caught:
        guest.evaluate(_ENDLESS)
    timer.join()
    assert caught.value.by_clock
    assert time.thread_time() - begun < 20


def test_whatever_a_tick_raises_stops_the_guest(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing passes through native code."""

    def fail(machine: Guest) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Guest, "tick", fail)
    guest.set_time(None)
    with guest.runtime.ticker, pytest.raises(Trapped):
        guest.evaluate(_ENDLESS)


def test_a_guest_that_is_not_late_goes_on_at_the_next_tick(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[None] = []

    def late(machine: Guest) -> bool:
        asked.append(None)
        return len(asked) > 2

    monkeypatch.setattr(Guest, "tick", late)
    guest.set_time(None)
    with guest.runtime.ticker, pytest.raises(Trapped):
        guest.evaluate(_ENDLESS)
    assert len(asked) == 3
