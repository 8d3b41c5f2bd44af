"""Tests of interpstack.guest_clock."""

from __future__ import annotations

import pytest

from interpstack.guests import GuestClock


def _told(*times: float) -> GuestClock:
    clock = GuestClock()
    for now in times:
        clock.tell(now)
    return clock


def test_it_begins_with_the_hosts_time() -> None:
    assert _told(1000.0).read() == 1000.0


def test_each_reading_moves_it() -> None:
    clock = _told(1000.0)
    assert [clock.read() for _ in range(3)] == pytest.approx([1000.0, 1000.001, 1000.002], abs=1e-9)


def test_what_lies_around_a_call_is_as_long_as_it_was() -> None:
    clock = _told(1000.0)
    before = [clock.read() for _ in range(5)][-1]
    clock.tell(1000.5)
    assert clock.read() - before == pytest.approx(0.501)


def test_it_is_brought_back_to_the_hosts_after_a_long_wait() -> None:
    clock = _told(1000.0)
    while clock.read() < 1005.0:
        pass
    clock.tell(1006.0)
    assert clock.read() == pytest.approx(1006.1)


def test_it_never_goes_back() -> None:
    clock = _told(1000.0)
    read = [clock.read() for _ in range(300)][-1]
    for now in (1000.0, 999.0, 0.0, 1000.1):
        clock.tell(now)
        before, read = read, clock.read()
        assert read > before
