"""LangGraph's `RetryPolicy` runs a step again in which a tool failed, and the process dies between.

Calls that had ended are not made again, by no retry and by no other process; failed ones are.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

CODE = """
let tries = 0
const got = []
for (const n of [1, 2, 3, 4]) {
  tries += 1
  got.push((await tools.act({n, salt: Math.random()})).value)
}
`${tries} ${got}`
"""
PARALLEL = """
let tries = 0
const got = await Promise.all([1, 2, 3, 4].map(async (n) => {
  tries += 1
  return (await tools.act({n, salt: Math.random()})).value
}));
`${tries} ${got}`
"""
LOOK = "`${tries} ${got}`"
FAILURES = {"2": 2, "4": 1}
CASES = [
    ("sqlite", False),
    ("sqlite-async", False),
    ("sqlite-async", True),
    ("postgres-async", False),
]
#: Whether to be killed at every moment, which takes minutes; else at some of those of a retry.
LONG = os.environ.get("INTERPSTACK_DURABLE") == "1"


def start(lives: Any, parallel: bool) -> Any:
    steps = [PARALLEL if parallel else CODE, LOOK]
    return lives(steps, parallel=parallel, gated=[3], failures=FAILURES)


def check(life: Any, unrecorded: set[str], recording: set[str]) -> None:
    assert life.answers() == ["<result>4 10,20,30,40</result>"] * 2
    assert life.paid() == [1, 2, 3, 4]
    lines: dict[int, list[tuple[str, float]]] = {}
    for n, key, salt in life.effects():
        lines.setdefault(n, []).append((key, salt))
    for n, done in lines.items():
        assert len(set(done)) == 1, f"call {n} has another key or input in another run: {done}"
        key = done[0][0]
        assert (len(done) > 1) == (key in unrecorded) or key in recording, f"call {n}: {done}"


def between(moments: list[str]) -> list[int]:
    """Numbers of the moments from a failure to the next effect."""
    if LONG:
        return list(range(len(moments)))
    fails = [i for i, moment in enumerate(moments) if moment.startswith("failed")]
    return sorted({at for i in fails for at in (i, i + 1, i + 2) if at < len(moments)})[:6]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("store", "parallel"), CASES, indirect=["store"])
def test_killed_between_two_tries(lives: Any, parallel: bool) -> None:
    whole = start(lives, parallel)
    assert whole.run()
    check(whole, set(), set())
    assert sum(moment.startswith("failed") for moment in whole.moments()) == 3
    for number in between(whole.moments()):
        life = start(lives, parallel)
        killed = not life.run(kill=number)
        unrecorded = life.unrecorded() if killed else set()
        recording = life.recording() if killed else set()
        assert life.run()
        try:
            check(life, unrecorded, recording)
        except AssertionError as error:
            at = life.moments()[number]
            raise AssertionError(f"killed at {number}, {at!r}: {error}") from error
