"""A budget holds, however often the process dies while subagents of its turn are at work."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest

#: A model, the agent's own, is called once before code runs.
KINDS: dict[str, dict[str, int]] = {"requests": {"requests": 6}, "tokens": {"tokens": 150}}
#: Trials; the long run (`tox -e durable`) has as many as it takes to be sure.
TRIALS = 200 if os.environ.get("INTERPSTACK_DURABLE") == "1" else 8
STORES = ["sqlite", "sqlite-async"]
CODE = """
const told = []
for (const n of [1, 2, 3, 4])
  try { await task({description: `d${n}`, subagentType: "kid"}); told.push("ran") }
  catch (e) { told.push(e.name) }
told.join()
"""


def begin(lives: Any, kind: str, inner: Any) -> Any:
    return lives([CODE], crew=True, budget=KINDS[kind], inner=inner)


def models(life: Any) -> list[str]:
    """What the subagents were asked for, at each call of their model."""
    path = life.folder / "models"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def used(life: Any, kind: str) -> int:
    """What was used outside: calls, each counted once, and subagents; or tokens."""
    if kind == "tokens":
        return 10 * (1 + len(models(life)))
    return len({key for _, key, _ in life.effects()}) + len(set(models(life)))


@pytest.mark.parametrize("store", STORES, indirect=True)
@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_budget_is_used_where_nothing_dies(lives: Any, kind: str) -> None:
    life = begin(lives, kind, None)
    assert life.run()
    assert used(life, kind) == KINDS[kind][kind]
    assert "BudgetExceeded" in life.answers()[-1]


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("store", STORES, indirect=True)
@pytest.mark.parametrize("kind", KINDS)
def test_a_budget_holds_although_processes_die(lives: Any, store: Any, kind: str) -> None:
    whole = begin(lives, kind, None)
    assert whole.run()
    moments = len(whole.moments())
    exceeded: list[str] = []
    for trial in range(TRIALS // (len(STORES) * len(KINDS))):
        chance = random.Random(f"{store.name} {kind} {trial}")
        life = begin(lives, kind, chance.choice([None, {}, {"requests": 50}]))
        kills = [chance.randrange(moments) for _ in range(chance.randint(1, 4))]
        for kill in kills:
            if life.run(kill=kill):
                break
        else:
            assert life.run()
        if used(life, kind) > KINDS[kind][kind]:
            exceeded.append(f"trial {trial}, killed at {kills}: {used(life, kind)}")
    assert not exceeded
