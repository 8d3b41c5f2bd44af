"""Calls of agents: options, attempts, budgets."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_runs import MemoryRuns, runner, script, spent

from interpstack_accounts.api import Account, Budget
from interpstack_workflows.agents.agent import AgentAnswer, AgentCall, AgentFailed, AgentPaused
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.errors import WorkflowError


class _Spending:
    """An agent that uses five tokens, and fails as often as a prompt says."""

    def __init__(self) -> None:
        self.calls: list[AgentCall] = []

    async def __call__(self, call: AgentCall) -> AgentAnswer:
        self.calls.append(call)
        if call.attempt < int(call.prompt):
            raise ConnectionError(f"attempt {call.attempt}")
        return AgentAnswer(call.attempt, WorkflowUsage(output_tokens=5))


async def _run(body: str, agent: Any, **options: Any) -> Any:
    async with runner(agent) as one:
        return await one.run(script(body), **options)


async def test_a_failed_agent_is_tried_again() -> None:
    agent = _Spending()
    result = await _run("return agent('3', {retry: {maxAttempts: 3, backoffMs: 1}})", agent)
    assert result.result == 3
    assert [call.attempt for call in agent.calls] == [1, 2, 3]
    assert len({call.key for call in agent.calls}) == 1
    assert spent(result) == {"output_tokens": 5, "agents": 3}


async def test_the_last_failure_says_how_often_it_was_tried() -> None:
    call = "agent('9', {retry: {maxAttempts: 2}})"
    body = f"return {call}.catch(error => ({{...error, m: error.message}}))"
    result = await _run(body, _Spending())
    assert (result.result["m"], result.result["attempts"]) == ("attempt 2", 2)
    assert result.census["failed"] == {"agent": 1}


async def test_options_reach_the_agent() -> None:
    agent = _Spending()
    body = "phase('A'); await agent('1', {model: 'm', provider: 'p', label: 'l', schema: {}})"
    await _run(body, agent)
    (call,) = agent.calls
    assert (call.model, call.provider, call.label, call.phase) == ("m", "p", "l", "A")
    assert call.schema == {}


async def test_selectors_reach_the_agent_in_parts() -> None:
    agent, models = _Spending(), {"fast": "acme/small?thinking=low"}
    body = "await agent('1', {model: 'fast'}); await agent('1', {model: 'hub/b?thinking=high'})"
    async with runner(agent, models=models) as one:
        result = await one.run(script(body))
        wrong = await one.run(script("return agent('1', {model: 'fast?provider=hub'})"))
    assert result.status == "completed"
    chosen = [(call.model, call.provider, call.model_options) for call in agent.calls]
    assert chosen == [("small", "acme", {"thinking": "low"}), ("b", "hub", {"thinking": "high"})]
    assert wrong.error is not None
    assert (wrong.error["name"], wrong.error["message"]) == (
        "TypeError",
        "agent option model 'fast?provider=hub' is of provider 'acme', not of 'hub'",
    )


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


async def test_a_budget_of_an_agent_itself_is_none_of_the_run() -> None:
    """Such a failure is tried again, and `parallel` makes it null."""
    attempts: list[int] = []

    async def agent(call: AgentCall) -> Any:
        attempts.append(call.attempt)
        Account(Budget(requests=1), name="the agent").reserve({"requests": 2})

    body = "return parallel([() => agent('a', {retry: {maxAttempts: 3, backoffMs: 1}})])"
    result = await _run(body, agent, budget={"agents": 9})
    assert (result.result, attempts, spent(result)) == ([None], [1, 2, 3], {"agents": 3})
    assert result.census["errors"][0]["name"] == "BudgetExceeded"


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
        return AgentAnswer(self.answers.pop(0), WorkflowUsage(output_tokens=2))


_SCORED = "agent('Rate it', {schema: {type: 'object', required: ['score']}})"


async def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    agent = _Scoring("high", '{"score": 3}')
    result = await _run(f"return {_SCORED}", agent)
    assert result.result == {"score": 3}
    assert spent(result) == {"output_tokens": 4, "agents": 2}
    first, second = agent.prompts
    assert first == "Rate it"
    assert "$: 'high' is not of type 'object'" in second


async def test_a_second_wrong_answer_is_a_failure_that_is_tried_again() -> None:
    agent = _Scoring("a", "b")
    result = await _run(f"return {_SCORED}", agent)
    assert result.error is not None
    message = "Structured output did not match JSON Schema: $: 'b' is not of type 'object'"
    assert result.error["message"] == message
    agent = _Scoring("a", "b", "c", {"score": 1})
    call = _SCORED.replace("}})", "}, retry: {maxAttempts: 2}})")
    result = await _run(f"return {call}", agent)
    assert result.result == {"score": 1}


class _Failing:
    """An agent that says what it used before it failed."""

    def __init__(self, fails: int) -> None:
        self.fails = fails

    async def __call__(self, call: AgentCall) -> AgentAnswer:
        if call.attempt <= self.fails:
            raise AgentFailed("overloaded", WorkflowUsage(input_tokens=7)) from ConnectionError(
                "no"
            )
        return AgentAnswer("done", WorkflowUsage(input_tokens=1))


_TWICE = "agent('a', {retry: {maxAttempts: 2}})"


@pytest.mark.parametrize("fails", [1, 2])
async def test_failed_attempts_are_paid_for_and_stay_so_after_a_resume(fails: int) -> None:
    store = MemoryRuns()
    body = f"const a = await {_TWICE}.catch(error => error.name); return [a, await ask('Go on?')]"
    async with runner(_Failing(fails), store) as one:
        paused = await one.run(script(body))
    wanted = WorkflowUsage(input_tokens=8 if fails == 1 else 14, agents=2).to_json()
    assert spent(paused) == wanted
    async with runner(_Failing(0), store) as one:  # the agent is not called again
        await one.answer(paused.run_id, paused.waiting_for[0]["id"], "yes")
        result = await (await one.resume(paused.run_id)).rest()
    assert result.result == ["done" if fails == 1 else "ConnectionError", "yes"]
    assert paused.usage == result.usage


async def test_answers_that_never_fit_are_paid_for_after_a_resume() -> None:
    store = MemoryRuns()
    body = f"const a = await {_SCORED}.catch(error => error.name); return [a, await ask('Go on?')]"
    async with runner(_Scoring("a", "b"), store) as one:
        paused = await one.run(script(body))
    async with runner(_Scoring(), store) as one:
        await one.answer(paused.run_id, paused.waiting_for[0]["id"], "yes")
        result = await (await one.resume(paused.run_id)).rest()
    assert result.result == ["StructuredOutputError", "yes"]
    assert spent(paused) == spent(result) == {"output_tokens": 4, "agents": 2}


async def test_a_budget_ends_attempts_and_what_they_used_stays_spent() -> None:
    result = await _run(
        "return agent('a', {retry: {maxAttempts: 9}}).catch(error => [error.name, budget.spent()])",
        _Failing(9),
        budget=20,
    )
    assert result.result == ["BudgetExceeded", 21]


@pytest.mark.parametrize("value", [{"x": object()}, {1, 2}, float("nan"), {1: 2, "1": 3}])
async def test_values_that_are_no_json_are_failures_of_the_agent(value: Any) -> None:
    async def agent(prompt: str) -> AgentAnswer:
        return AgentAnswer(value, WorkflowUsage(output_tokens=3))

    result = await _run("return agent('a')", agent)
    assert result.error is not None
    assert result.error["message"].startswith("agent 'default' has to answer in JSON, but ")
    assert spent(result) == {"output_tokens": 3, "agents": 1}


class _Asking:
    """An agent that asks before the second half of each of its calls, and answers by a script."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[str, int, bool, Any]] = []

    async def __call__(self, call: AgentCall) -> AgentAnswer:
        self.calls.append((call.prompt[:7], call.attempt, call.correction, call.decisions))
        if call.decisions is None:
            raise AgentPaused([{"id": "a1"}], WorkflowUsage(output_tokens=10))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return AgentAnswer(answer, WorkflowUsage(output_tokens=1))


async def test_a_pause_keeps_the_attempt_the_correction_and_the_spending() -> None:
    store, agent = MemoryRuns(), _Asking(ValueError("no"), "high", {"score": 1})
    call = _SCORED.replace("}})", "}, retry: {maxAttempts: 2}})")
    async with runner(agent, store) as one:
        result = await one.run(script(f"return {call}"))
    for _ in range(3):  # each time in a runner of its own
        async with runner(agent, store) as one:
            (wait,) = result.waiting_for
            await one.answer(result.run_id, wait["id"], {"a1": "yes"})
            result = await (await one.resume(result.run_id)).rest()
    assert result.result == {"score": 1}
    yes = {"a1": "yes"}
    assert agent.calls == [
        *(("Rate it", 1, False, message) for message in (None, yes)),
        *(("Rate it", 2, False, message) for message in (None, yes)),
        *(("Rate it", 2, True, message) for message in (None, yes)),
    ]
    assert spent(result) == {"output_tokens": 32, "agents": 3}


@pytest.mark.parametrize("value", [None, "yes", {}, {"a1": "yes", "a2": "yes"}])
async def test_approvals_take_a_decision_for_each_thing_to_decide(value: Any) -> None:
    async with runner(_Asking("x")) as one:
        paused = await one.run(script("return agent('a')"))
        (wait,) = paused.waiting_for
        with pytest.raises(WorkflowError, match="takes an object with a decision for each of: a1"):
            await one.answer(paused.run_id, wait["id"], value)
        await one.answer(paused.run_id, wait["id"], {"a1": "yes"})
        assert (await (await one.resume(paused.run_id)).rest()).result == "x"


async def test_scripts_see_values_as_they_are_recorded() -> None:
    async def agent(prompt: str) -> Any:
        return {1: (2, 3)}

    assert (await _run("return agent('a')", agent)).result == {"1": [2, 3]}


async def test_a_final_failure_is_not_tried_again() -> None:
    calls: list[AgentCall] = []

    async def agent(call: AgentCall) -> Any:
        calls.append(call)
        raise AgentFailed("gone", WorkflowUsage(output_tokens=3), final=True) from KeyError("state")

    store = MemoryRuns()
    async with runner(agent, store) as one:
        result = await one.run(script("return agent('1', {retry: {maxAttempts: 5}})"))
    assert result.error is not None
    assert (result.error["name"], result.error["message"]) == ("KeyError", "gone")
    assert spent(result) == {"output_tokens": 3, "agents": 1}
    (call,) = calls
    assert call.store is store
