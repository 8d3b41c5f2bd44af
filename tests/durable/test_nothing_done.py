"""Processes that die before their thread has its message: they did nothing, and nothing is lost."""

from __future__ import annotations

import os
from typing import Any

import pytest

CODE = """
const told = []
for (const n of [1, 2])
  try { await task({description: `d${n}`, subagentType: "kid"}); told.push("ran") }
  catch (e) { told.push(e.name) }
told.join()
"""
#: Whether to be killed at every moment, and not only at the first ones.
LONG = os.environ.get("INTERPSTACK_DURABLE") == "1"


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("store", ["sqlite-async"], indirect=True)
def test_who_did_nothing_died_while_langgraph_stored_something(lives: Any) -> None:
    """Subagents run code of their own here; a life without any of it has one reason alone."""
    whole = start(lives)
    assert whole.run()
    moments = whole.moments()
    first = moments.index("model")  # of a subagent: the agent's own model passes no moment
    idle: dict[int, str] = {}
    for number in range(len(moments)) if LONG else (0, 2, first // 2, first + 2):
        life = start(lives)
        assert not life.run(kill=number)
        passed = life.moments()
        if not any(one.startswith(("model", "call", "effect")) for one in passed):
            idle[number] = passed[-1]
            assert life.effects() == []
        assert life.run()
        assert life.answers() == ["<result>ran,ran</result>"]
        assert life.paid() == whole.paid()
    assert {0, 2, first // 2} <= idle.keys() <= set(range(first + 2)), idle
    # What is stored in the background may come a moment earlier or later than in another life.
    assert all(at.startswith(("before ", "after ")) for at in idle.values()), idle


def start(lives: Any) -> Any:
    return lives([CODE], crew=True, budget={"requests": 50}, inner=None)
