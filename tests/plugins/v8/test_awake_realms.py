"""Tests of interpstack_v8.awake_realms."""

from __future__ import annotations

import threading
from typing import Any

from interpstack_v8.awake_realms import MAX_AWAKE, AwakeRealms, awake_realms


class Realm:
    """Notes when it rests, as a realm does: it has no heap from then on."""

    def __init__(self, awake: AwakeRealms) -> None:
        self.awake = awake
        self.rested = 0

    def rest(self) -> None:
        self.rested += 1
        self.awake.left(self)  # type: ignore[arg-type]


def realms(bound: int, number: int) -> tuple[AwakeRealms, list[Any]]:
    awake = AwakeRealms(bound)
    return awake, [Realm(awake) for _ in range(number)]


def test_the_one_used_longest_ago_rests_first() -> None:
    awake, (one, two, three) = realms(2, 3)
    for realm in (one, two, one, three):
        awake.used(realm)
    assert [realm.rested for realm in (one, two, three)] == [0, 1, 0]
    awake.used(two)
    assert [realm.rested for realm in (one, two, three)] == [1, 1, 0]


def test_realms_without_a_heap_take_no_room() -> None:
    awake, (one, two, three) = realms(2, 3)
    awake.used(one)
    awake.used(two)
    awake.left(one)
    awake.left(one)
    awake.used(three)
    assert [realm.rested for realm in (one, two, three)] == [0, 0, 0]


def test_a_realm_never_rests_for_itself() -> None:
    awake, (one, two) = realms(0, 2)
    awake.used(one)
    awake.used(two)
    assert (one.rested, two.rested) == (1, 0)


def test_a_realm_that_will_not_rest_keeps_no_other_from_it() -> None:
    """One that runs a cell does not rest, and stays the first in line."""
    awake, (one, two, three) = realms(1, 3)
    one.rest = lambda: None
    for realm in (one, two, three):
        awake.used(realm)
    assert two.rested == 1


def test_realms_rest_outside_of_the_lock() -> None:
    """Resting takes a realm's own lock, which another thread may hold that is about to be noted."""
    awake, (one, two) = realms(1, 2)
    ended = threading.Event()

    def rest() -> None:
        noted = threading.Thread(target=lambda: (awake.left(one), ended.set()))
        noted.start()
        assert ended.wait(60), "the lock is held"

    one.rest = rest
    awake.used(one)
    awake.used(two)
    assert ended.is_set()


def test_the_process_has_one_bound() -> None:
    assert awake_realms.bound == MAX_AWAKE
