"""Budgets are enforced for 64 agents at once that report their use late."""

from __future__ import annotations

import asyncio
import random

import attrs
import pytest
from workflow_runs import runner, script

from interpstack_workflows.agents.agent import Agent, AgentAnswer, AgentCall
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.scheduling.scheduler import Scheduler

_AT_ONCE = 64
_MOST = 40
_LIMIT = 1500
#: More calls than the budget allows; each failure but that of the budget becomes null.
_MANY = script(
    """
    let refused = 0
    const one = async (i) => {
      try { return await agent(`call ${i}`, args.declared ? { maxTokens: 40 } : {}) }
      catch (error) { if (error.name !== "BudgetExceeded") throw error; refused++ }
    }
    await parallel(Array.from({ length: 300 }, (_, i) => () => one(i)))
    return refused
    """
)


@attrs.define
class _Late(Agent):
    """An agent that takes its time, and says at the end what it used.

    Attributes:
        chance: Decides how long a call takes, and how much it uses.
        working: Calls that go on.
        at_once: The most of them.
    """

    chance: random.Random
    working: int = 0
    at_once: int = 0

    async def run(self, call: AgentCall) -> AgentAnswer:
        self.working += 1
        self.at_once = max(self.at_once, self.working)
        for _ in range(self.chance.randint(1, 30)):
            await asyncio.sleep(0)
        if self.chance.random() < 0.5:
            await asyncio.sleep(self.chance.random() / 100)
        self.working -= 1
        return AgentAnswer(call.prompt, WorkflowUsage(output_tokens=self.chance.randint(0, _MOST)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("declared", [True, False])
async def test_the_overshoot_is_bounded(seed: int, declared: bool) -> None:
    agent = _Late(random.Random(seed))
    async with runner(agent, scheduler=Scheduler(_AT_ONCE)) as one:
        result = await one.run(_MANY, {"declared": declared}, budget=_LIMIT)
    assert result.status == "completed", result.error
    spent = result.usage["output_tokens"]
    assert result.result > 0  # calls were refused
    assert agent.at_once > _AT_ONCE / 2
    assert result.usage["agents"] == 300 - result.result
    if declared:
        assert spent <= _LIMIT
        assert spent > _LIMIT - _AT_ONCE * _MOST - _MOST
    else:
        assert _LIMIT <= spent < _LIMIT + _AT_ONCE * _MOST
