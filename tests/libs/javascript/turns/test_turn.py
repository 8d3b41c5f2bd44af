"""Tests of interpstack_javascript.turns.turn."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from interpstack_javascript.turns.turn import Turn


def test_the_value_or_the_exception_is_there_at_the_end() -> None:
    turn = Turn(1, 0, lambda: 6 * 7)
    assert not turn.done()
    turn.run()
    assert not turn.done()
    turn.end()
    assert turn.done()
    assert turn.done(-1)
    assert turn.result() == 42
    failed = Turn(1, 0, lambda: 1 / 0)
    failed.run()
    failed.end()
    with pytest.raises(ZeroDivisionError):
        failed.result()


def test_a_turn_is_cancelled_before_it_begins_or_not_at_all() -> None:
    ran: list[int] = []
    turn = Turn(1, 0, lambda: ran.append(1))
    assert turn.cancel()
    turn.run()
    turn.end()
    assert turn.done()
    assert ran == []
    turn = Turn(1, 0, lambda: ran.append(2))
    turn.run()
    assert not turn.cancel()
    assert ran == [2]


def test_whoever_wants_to_be_woken_is_woken_once_the_turn_has_ended() -> None:
    woken: list[str] = []
    turn = Turn(1, 0, lambda: None)
    turn.wake(lambda: woken.append("at the end"))
    turn.run()
    assert woken == []
    turn.end()
    assert woken == ["at the end"]
    turn.wake(lambda: woken.append("at once"))
    assert woken == ["at the end", "at once"]


def test_another_thread_waits_for_the_end() -> None:
    turn = Turn(1, 0, lambda: None)
    ended: list[bool] = []
    waiter = threading.Thread(target=lambda: ended.append(turn.done(60)))
    waiter.start()
    turn.run()
    turn.end()
    waiter.join(60)
    assert ended == [True]


class _Guest:
    def fail(self) -> None:
        raise ValueError("no")


def test_an_ended_turn_holds_nothing_of_its_guest() -> None:
    guest = _Guest()
    gone = weakref.ref(guest)
    turn = Turn(1, 0, guest.fail)
    turn.run()
    turn.end()
    del guest
    gc.disable()  # the exception's traceback must not be part of a circle
    try:
        with pytest.raises(ValueError, match="no") as caught:
            turn.result()
        del caught
        assert gone() is None
    finally:
        gc.enable()
