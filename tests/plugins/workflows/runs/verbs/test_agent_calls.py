"""Calls of agents: options, attempts, budgets."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_runs import Prompts, runner, script

from interpstack_workflows.agents.agent import AgentAnswer, AgentCall
from interpstack_workflows.budgets.usage import Usage


class _Spending:
    """An agent that uses five tokens, and fails as often as a prompt says."""

    def __init__(self) -> None:
        self.calls: list[AgentCall] = []

    async def __call__(self, call: AgentCall) -> AgentAnswer:
        self.calls.append(call)
        if call.attempt < int(call.prompt):
            raise ConnectionError(f"attempt {call.attempt}")
        return AgentAnswer(call.attempt, Usage(output_tokens=5))


async def _run(body: str, agent: Any, **options: Any) -> Any:
    async with runner(agent) as one:
        return await one.run(script(body), **options)


async def test_a_failed_agent_is_tried_again() -> None:
    agent = _Spending()
    result = await _run("return agent('3', {retry: {maxAttempts: 3, backoffMs: 1}})", agent)
    assert result.result == 3
    assert [call.attempt for call in agent.calls] == [1, 2, 3]
    assert len({call.key for call in agent.calls}) == 1
    assert result.usage == {"output_tokens": 5, "agents": 1}


async def test_the_last_failure_says_how_often_it_was_tried() -> None:
    call = "agent('9', {retry: {maxAttempts: 2}})"
    body = f"return {call}.catch(error => ({{...error, m: error.message}}))"
    result = await _run(body, _Spending())
    assert (result.result["m"], result.result["attempts"]) == ("attempt 2", 2)
    assert result.census["failed"] == {"agent": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{retry: 3}", "agent retry option must be an object"),
        ("{retry: {maxAttempts: 0}}", "agent retry.maxAttempts must be a positive integer"),
        ("{retry: {maxAttempts: 1.5}}", "agent retry.maxAttempts must be a positive integer"),
        (
            "{retry: {maxAttempts: 4294967296}}",
            "agent retry.maxAttempts must be between 1 and 4294967295",
        ),
        ("{retry: {backoffMs: -1}}", "agent retry.backoffMs must be a non-negative integer"),
        ("{model: 3}", "agent option model takes a string; got 3"),
        ("{priority: 'high'}", "agent option priority takes a whole number; got 'high'"),
        ("{isolation: 'worktree'}", "agent option isolation is not supported by this runner"),
        ("{modle: 'm'}", "agent has no option 'modle'; it has agentType, isolation, key, label"),
        ("{schema: 5}", "agent option schema takes a JSON Schema; got 5"),
        ("{schema: {pattern: '(a+)+$'}}", "agent option schema: pattern is not supported"),
        ("{agentType: 'x'}", "Unknown agent: x. Known agents: default"),
    ],
)
async def test_wrong_options_are_refused_before_anything_is_called(
    options: str, message: str
) -> None:
    agent = Prompts()
    result = await _run(f"return agent('a', {options})", agent)
    assert result.error is not None
    assert result.error["message"].startswith(message)
    assert agent.called == []


async def test_options_reach_the_agent() -> None:
    agent = _Spending()
    body = "phase('A'); await agent('1', {model: 'm', provider: 'p', label: 'l', schema: {}})"
    await _run(body, agent)
    (call,) = agent.calls
    assert (call.model, call.provider, call.label, call.phase) == ("m", "p", "l", "A")
    assert call.schema == {}


async def test_phases_of_the_metadata_name_models() -> None:
    agent = _Spending()
    source = script("phase('A'); await agent('1')").replace(
        "description:", "phases: [{title: 'A', model: 'm', provider: 'p'}], description:"
    )
    async with runner(agent) as one:
        await one.run(source)
    assert (agent.calls[0].model, agent.calls[0].provider) == ("m", "p")


async def test_a_budget_that_is_used_up_escapes_parallel() -> None:
    body = "return parallel([1, 2, 3].map(n => () => agent('1', {key: 'k' + n})))"
    agent = _Spending()
    result = await _run(body, agent, budget={"agents": 2})
    assert result.error is not None
    assert result.error["name"] == "BudgetExceeded"
    assert len(agent.calls) == 2


async def test_scripts_see_what_is_spent_and_may_catch_the_end() -> None:
    body = """
    const seen = [budget.total, budget.spent()]
    for (;;) {
      try { await agent('1') } catch (error) { return [...seen, error.name, error.kind] }
      seen.push(budget.spent(), budget.remaining())
    }
    """
    result = await _run(body, _Spending(), budget=8)
    assert result.result == [8, 0, 5, 3, 10, 0, "BudgetExceeded", "tokens"]


async def test_phases_have_budgets_of_their_own() -> None:
    body = """
    phase('A'); await agent('1')
    const failed = await agent('1').catch(error => error.budget)
    phase('B'); return [failed, await agent('1')]
    """
    result = await _run(body, _Spending(), budgets={"A": {"agents": 1}})
    assert result.result == ["'A'", 1]


class _Scoring:
    """An agent that answers wrongly for some times."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    async def __call__(self, prompt: str) -> AgentAnswer:
        self.prompts.append(prompt)
        return AgentAnswer(self.answers.pop(0), Usage(output_tokens=2))


_SCORED = "agent('Rate it', {schema: {type: 'object', required: ['score']}})"


async def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    agent = _Scoring("high", '{"score": 3}')
    result = await _run(f"return {_SCORED}", agent)
    assert result.result == {"score": 3}
    assert result.usage == {"output_tokens": 4, "agents": 2}
    first, second = agent.prompts
    assert first == "Rate it"
    assert "$: 'high' is not of type 'object'" in second


async def test_a_second_wrong_answer_is_a_failure_that_is_tried_again() -> None:
    agent = _Scoring("a", "b")
    result = await _run(f"return {_SCORED}", agent)
    assert result.error is not None
    told = "Structured output did not match JSON Schema: $: 'b' is not of type 'object'"
    assert result.error["message"] == told
    agent = _Scoring("a", "b", "c", {"score": 1})
    call = _SCORED.replace("}})", "}, retry: {maxAttempts: 2}})")
    result = await _run(f"return {call}", agent)
    assert result.result == {"score": 1}
