"""Options of agents are checked before anything is called."""

from __future__ import annotations

import pytest
from workflow_runs import Prompts, runner, script

from interpstack_workflows.agents.agent import AgentCall


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
        (
            "{retry: {backoffMs: 31536000001}}",
            "agent retry.backoffMs must be at most 31536000000, 365 days",
        ),
        ("{maxTokens: 'x'}", 'agent option maxTokens takes a positive whole number; got "x"'),
        ("{maxTokens: 0}", "agent option maxTokens takes a positive whole number; got 0"),
        ("{maxTokens: 1.5}", "agent option maxTokens takes a positive whole number; got 1.5"),
        ("{model: 3}", "agent option model takes a string; got 3"),
        ("{priority: 'high'}", 'agent option priority takes a whole number; got "high"'),
        ("{isolation: 'worktree'}", "agent option isolation: the host has named no repository"),
        ("{isolation: 'folder'}", "agent option isolation takes 'worktree'; got \"folder\""),
        ("{isolation: false}", "agent option isolation takes 'worktree'; got false"),
        ("{modle: 'm'}", "agent has no option 'modle'; it has agentType, effort, isolation, key"),
        ("{retry: {max: 3}}", "agent retry has no option 'max'; it has maxAttempts, backoffMs"),
        ("{key: ''}", "agent option key takes a string that is not empty"),
        ("{key: 7}", "agent option key takes a string; got 7"),
        ("{schema: 5}", "agent option schema takes a JSON Schema; got 5"),
        ("{schema: {pattern: '(a+)+$'}}", "agent option schema: pattern is not supported"),
        ("{agentType: 'x'}", "Unknown agent: x. Known agents: default"),
    ],
)
async def test_wrong_options_are_refused_before_anything_is_called(
    options: str, message: str
) -> None:
    agent = Prompts()
    async with runner(agent) as one:
        result = await one.run(script(f"return agent('a', {options})"))
    assert result.error is not None
    assert result.error["message"].startswith(message)
    assert agent.called == []


@pytest.mark.parametrize(("given", "taken"), [("null", None), ("100", 100), ("2e3", 2000)])
async def test_a_limit_of_tokens_reaches_the_agent(given: str, taken: int | None) -> None:
    calls: list[AgentCall] = []

    async def agent(call: AgentCall) -> str:
        calls.append(call)
        return "x"

    async with runner(agent) as one:
        await one.run(script(f"return agent('a', {{maxTokens: {given}}})"))
    assert [call.max_tokens for call in calls] == [taken]


async def test_calls_without_options_share_nothing() -> None:
    seen: list[dict[str, str]] = []

    async def agent(call: AgentCall) -> str:
        options = call.model_options
        assert isinstance(options, dict)
        seen.append(dict(options))
        options["thinking"] = "mine alone"
        return "x"

    async with runner(agent) as one:
        await one.run(script("await agent('a'); await agent('b')"))
    assert seen == [{}, {}]
