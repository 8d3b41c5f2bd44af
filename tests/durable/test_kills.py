"""A process is killed at every moment of an eval; what it did is done once, whatever comes then.

One window stays, and is what `docs/explanation/durability.md` says it is: a call whose effect
happened and whose record had not been written is made again, with the same key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from typing import Any

import pytest

STORES = ("sqlite", "sqlite-async", "postgres", "postgres-async")

SEQUENTIAL = """
let count = 0
const got = []
for (const n of [1, 2, 3, 4, 5, 6]) {
  count += 1
  const {value} = await tools.act({n, salt: Math.random()})
  got.push(value)
}
`${count} ${got}`
"""
PARALLEL = """
let count = 0
const order = []
const got = await Promise.all([1, 2, 3, 4, 5, 6].map(async (n) => {
  count += 1
  const {value} = await tools.act({n, salt: Math.random()})
  order.push(n)
  return value
}));
`${count} ${got} ${order.length}`
"""
FIRST = SEQUENTIAL.replace(", 4, 5, 6", "")
#: Timers have ids, too: with them, no call has the id of one of the eval before.
SECOND = """
for (const n of [1, 2, 3]) await new Promise(done => setTimeout(done))
for (const n of [4, 5, 6]) {
  count += 1
  got.push((await tools.act({n, salt: Math.random()})).value)
}
`${count} ${got}`
"""
LOOK = "`${count} ${got}` + (typeof order === 'undefined' ? '' : ` ${order.length}`)"
#: The model's messages, each with its evals, and what these answer.
STEPS: dict[str, tuple[list[Any], list[str]]] = {
    "sequential": ([SEQUENTIAL, LOOK], ["6 10,20,30,40,50,60"] * 2),
    "parallel": ([PARALLEL, LOOK], ["6 10,20,30,40,50,60 6"] * 2),
    "together": ([[FIRST, SECOND]], ["3 10,20,30", "6 10,20,30,40,50,60"]),
}
CASES = [(store, shape) for store in STORES for shape in ("sequential", "parallel")]
CASES += [("sqlite-async", "together"), ("postgres", "together")]
#: Whether to take every case, which takes many minutes; else some of each kind.
LONG = os.environ.get("INTERPSTACK_DURABLE") == "1"
AGAIN = CASES if LONG else [("sqlite-async", "parallel"), ("postgres", "sequential")]


def start(lives: Any, shape: str, **options: Any) -> Any:
    steps, _ = STEPS[shape]
    return lives(steps, parallel=shape == "parallel", gated=[3, 5], **options)


def check(
    life: Any, shape: str, unrecorded: set[str], recording: Collection[str] = frozenset()
) -> None:
    """The end is that of an uninterrupted run, and everything was done once."""
    assert life.answers() == [f"<result>{found}</result>" for found in STEPS[shape][1]]
    assert life.paid() == [1, 2, 3, 4, 5, 6]
    lines: dict[int, list[tuple[str, float]]] = {}
    for n, key, salt in life.effects():
        lines.setdefault(n, []).append((key, salt))
    for n, done in lines.items():
        assert len(set(done)) == 1, f"call {n} has another key or input in another run: {done}"
        key = done[0][0]
        again = len(done) > 1
        assert again == (key in unrecorded) or key in recording, f"call {n}: {done}"


def chosen(moments: list[str], case: int) -> list[int]:
    """Numbers of the moments to be killed at.

    In a short run each case takes its part of the kinds of moments, so that all are taken by
    some case.
    """
    if LONG:
        return list(range(len(moments)))
    kinds: dict[str, list[int]] = {}
    for number, moment in enumerate(moments):
        kinds.setdefault(re.sub(r"[\d,]+$", "", moment), []).append(number)
    found = [numbers[len(numbers) // 2] for numbers in kinds.values()]
    return found[case :: len(CASES)]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("store", "shape"), CASES, indirect=["store"])
def test_killed_at_every_moment(lives: Any, store: Any, shape: str) -> None:
    whole = start(lives, shape)
    assert whole.run()
    check(whole, shape, set())
    for number in chosen(whole.moments(), CASES.index((store.name, shape))):
        life = start(lives, shape)
        killed = not life.run(kill=number)
        at = life.moments()[-1] if killed else "the end"
        unrecorded = life.unrecorded() if killed else set()
        recording = life.recording() if killed else set()
        assert life.run(), f"killed at {number}, {at}"
        try:
            check(life, shape, unrecorded, recording)
        except AssertionError as error:
            raise AssertionError(f"killed at {number}, {at!r}: {error}") from error


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("store", "shape"), AGAIN, indirect=["store"])
def test_killed_again_while_it_goes_on(lives: Any, shape: str) -> None:
    """Each process makes some way, and dies."""
    # In a group of calls, all four effects may come before the first record: 14 moments.
    fewest = 14 if shape == "parallel" else 9
    for stride in range(fewest, 30) if LONG else [21]:
        life = start(lives, shape)
        unrecorded: set[str] = set()
        recording: set[str] = set()
        for deaths in range(40):
            if life.run(kill=stride + deaths % 3):
                break
            unrecorded |= life.unrecorded()
            recording |= life.recording()
        check(life, shape, unrecorded, recording)
        assert deaths > 1


@pytest.mark.parametrize("store", ["sqlite-async", "postgres"], indirect=True)
def test_no_call_is_made_before_the_checkpoint_of_its_step_is_stored(lives: Any) -> None:
    """LangGraph stores it in the background; without it, the model would be asked again."""
    life = start(lives, "sequential")
    assert life.run(slow_put=0.1)
    moments = life.moments()
    first = moments.index("call 1")
    assert moments[:first].count("after checkpoint") == moments[:first].count("before checkpoint")
    again = start(lives, "sequential")
    assert not again.run(kill=moments.index("effected 1"), slow_put=0.1)
    unrecorded = again.unrecorded()
    assert len(unrecorded) == 1
    assert again.run()
    check(again, "sequential", unrecorded)
