"""Tests of interpstack_ray.placement: keys stay where they are, and no place gets too many."""

from __future__ import annotations

from collections import Counter

import pytest

from interpstack import Outcome
from interpstack_ray.placement import choose, key_of_session, placed_by

KEYS = [f"session {number}" for number in range(400)]


def _placed(names: list[str], keys: list[str] = KEYS) -> dict[str, str]:
    loads, found = dict.fromkeys(names, 0), dict[str, str]()
    for key in keys:
        found[key] = choose(key, loads, str)
        loads[found[key]] += 1
    return found


def test_a_key_has_the_same_place_each_time() -> None:
    loads = {"a": 3, "b": 3, "c": 3}
    assert len({choose("key", loads, str) for _ in range(5)}) == 1
    assert len({choose(key, loads, str) for key in KEYS}) == 3


def test_no_place_gets_far_more_than_the_others() -> None:
    counts = Counter(_placed(["a", "b", "c", "d"]).values())
    assert max(counts.values()) <= 1.25 * 400 / 4 + 2
    assert choose("key", {"a": 100, "b": 0}, str) == choose("other", {"a": 100, "b": 0}, str) == "b"


def test_most_keys_stay_when_a_place_comes() -> None:
    before, after = _placed(["a", "b", "c"]), _placed(["a", "b", "c", "d"])
    moved = [key for key in KEYS if before[key] != after[key]]
    assert len(moved) < 0.45 * len(KEYS)  # a modulus would move three of four
    assert sum(after[key] == "d" for key in moved) > len(moved) / 2


@pytest.mark.parametrize("key", ["", "\ud800", "x" * 10_000])
def test_any_text_is_a_key(key: str) -> None:
    assert choose(key, {"a": 0}, str) == "a"


async def test_the_key_is_reported_for_the_time_of_an_eval() -> None:
    found = []

    async def run() -> Outcome:
        found.append(key_of_session.get())
        raise LookupError

    with pytest.raises(LookupError):
        await placed_by("one")(run)
    assert (found, key_of_session.get()) == (["one"], "")
