"""A payment is made only if the person who approved something was shown that payment.

Runs end between the record of a pause and the interrupt that LangGraph stores for it. The person
then sees the question before, and answers it without an id. `docs/how-to/ask-for-approval.md` says
what such an answer does.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from consent import conversation, lines

LONG = os.environ.get("INTERPSTACK_DURABLE") == "1"
#: The ends of runs that a test aims for, and the pauses of each conversation.
ENDS, PAUSES = (100, 10) if LONG else (4, 4)
STORES = ("sqlite", "sqlite-async", "postgres", "postgres-async")
#: A run without an event loop cannot be cancelled.
CASES = [(store, way) for store in STORES for way in ("kill", "fail")]
CASES += [(store, "cancel") for store in STORES if store.endswith("async")]


@attrs.define
class Paying:
    """One conversation, and what was paid and approved in it."""

    job: dict[str, Any]

    def read(self, name: str) -> list[str]:
        return lines(Path(self.job["folder"]) / name)

    def check(self) -> None:
        """Each payment was approved before it was made, and made once."""
        every = sorted(n for one in self.job["rounds"] for n in one)
        assert sorted(map(int, self.read("paid"))) == every
        assert self.read("unapproved") == []


def run_job(runner: Any, job: dict[str, Any]) -> bool:
    """Go on with a conversation in a process of its own; False if the process was killed."""
    runner.stdin.write(json.dumps(job) + "\n")
    runner.stdin.flush()
    status = int(runner.stdout.readline())
    assert status in (0, -signal.SIGKILL), "see what the process printed"
    return status == 0


def rounds(chance: random.Random) -> list[list[int]]:
    """Payments, of which those of one round wait at the same time."""
    made = [chance.randint(1, 3) for _ in range(PAUSES)]
    return [[10 * at + n for n in range(size)] for at, size in enumerate(made)]


def paying(store: Any, way: str, folder: Path, number: int) -> Paying:
    chance = random.Random(f"{store.name} {way} {number}")
    place = folder / str(number)
    place.mkdir()
    ends = [chance.choice(["record", "interrupt"]) for _ in range(PAUSES)]
    job = {
        "store": store.name,
        "place": store.place,
        "thread": f"t{number}",
        "folder": str(place),
        "tool": chance.choice(["pay", "pay", "ask"]),
        "rounds": rounds(chance),
        "way": way,
        "aims": ["interrupt"] * PAUSES if way == "fail" else ends,
    }
    return Paying(job)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("store", "way"), CASES, indirect=["store"])
async def test_no_payment_is_made_that_nobody_was_shown(
    store: Any, way: str, tmp_path: Path, runner: Any
) -> None:
    made: Sequence[Paying] = [
        paying(store, way, tmp_path, number) for number in range(max(1, ENDS // PAUSES))
    ]
    ended = 0
    for one in made:
        if way == "kill":
            ends = one.job["aims"]
            while not run_job(runner, {**one.job, "aims": ends[:1]}):
                ends = ends[1:]
        else:
            await conversation(one.job)
        one.check()
        ended += len(one.read("ends"))
    assert ended >= ENDS
