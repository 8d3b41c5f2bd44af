"""The contract between runs and agents."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_workflows.agents.agent import Agent, AgentAnswer, AgentCall, AgentPaused
from interpstack_workflows.budgets.usage import WorkflowUsage


class Approving(Agent):
    """Asks a person once."""

    max_tokens = 10

    async def run(self, call: AgentCall) -> AgentAnswer:
        call.emit({"kind": "asked"})
        if call.decisions is None:
            raise AgentPaused([{"id": "pay"}])
        return AgentAnswer(call.decisions["pay"])


async def test_an_agent_pauses_until_it_has_decisions() -> None:
    agent, events = Approving(), list[Any]()
    with pytest.raises(AgentPaused) as raised:
        await agent.run(AgentCall(prompt="p", emit=events.append))
    assert raised.value.approvals == ({"id": "pay"},)
    answer = await agent.run(AgentCall(prompt="p", decisions={"pay": "yes"}))
    assert answer == AgentAnswer("yes", WorkflowUsage(), None)
    assert events == [{"kind": "asked"}]


def test_an_agent_says_what_it_uses_at_most() -> None:
    assert (Approving.max_tokens, Approving.max_cost) == (10, None)


def test_an_agent_has_to_run() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Agent()  # type: ignore[abstract]


def test_pauses_count_their_decisions() -> None:
    assert str(AgentPaused([{"id": "a"}, {"id": "b"}])) == "2 decisions are needed"
