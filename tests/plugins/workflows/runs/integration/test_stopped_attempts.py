"""Attempts and corrections count once, and only those that are left are made, across stops."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from git_repositories import repository
from workflow_runs import MemoryRuns, runner, script, spent, until

from interpstack_workflows.agents.agent import AgentAnswer, AgentCall, AgentFailed, AgentPaused
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.events.events import WorkflowEvent
from interpstack_workflows.runs.values import WorkflowResult

__all__ = ["repository"]  # a fixture

_RETRY = "return agent('a', {retry: {maxAttempts: 3, backoffMs: BACKOFF}})"


class _Failing:
    """An agent that uses 100 tokens in each of its calls, and fails in all but the last."""

    def __init__(self, fails: int) -> None:
        self.fails = fails
        self.attempts: list[int] = []

    async def __call__(self, call: AgentCall) -> AgentAnswer:
        self.attempts.append(call.attempt)
        if len(self.attempts) <= self.fails:
            raise AgentFailed("overloaded", WorkflowUsage(output_tokens=100))
        return AgentAnswer("done", WorkflowUsage(output_tokens=100))


async def _stopped_after_a_call(
    store: MemoryRuns,
    agent: Any,
    source: str,
    clock: Callable[[], float] = time.time,
    **options: Any,
) -> None:
    """Start a run, and stop its runner in the pause after the first attempt."""
    async with runner(agent, store, clock=clock) as one:
        await one.start(source, run_id="run_a", **options)
        await until(lambda: _recorded(store, 1))


async def _recorded(store: MemoryRuns, count: int) -> bool:
    return len(await store.entries("run_a")) >= count


async def test_a_retry_that_was_stopped_in_its_pauses_has_the_attempts_that_are_left() -> None:
    ahead = [0.0]

    def clock() -> float:
        return time.time() + ahead[0]

    store, agent = MemoryRuns(clock), _Failing(3)
    source = script(_RETRY.replace("BACKOFF", "600000"))
    budget = {"agents": 3, "tokens": 350}
    await _stopped_after_a_call(store, agent, source, clock=clock, budget=budget)
    result = None
    for stop in (2, 3):
        ahead[0] += 601  # the pause is over
        async with runner(agent, store, clock=clock) as one:
            handle = await one.resume("run_a")
            await until(lambda stop=stop: _recorded(store, stop))
            result = await handle.result() if stop == 3 else None
    assert agent.attempts == [1, 2, 3]
    assert result is not None
    assert result.error is not None
    assert (result.error["message"], result.status) == ("overloaded", "failed")
    assert spent(result) == {"output_tokens": 300, "agents": 3}


async def test_a_pause_between_attempts_lasts_as_long_as_without_a_stop() -> None:
    store, agent = MemoryRuns(), _Failing(1)
    await _stopped_after_a_call(store, agent, script(_RETRY.replace("BACKOFF", "1500")))
    failed = (await store.entries("run_a"))[0].now
    async with runner(agent, store) as one:
        result = await (await one.resume("run_a")).result()
    assert (result.result, agent.attempts) == ("done", [1, 2])
    assert time.time() - failed >= 1.5


async def test_attempts_of_all_activations_draw_on_one_budget() -> None:
    store, agent = MemoryRuns(), _Failing(9)
    source = script(_RETRY.replace("BACKOFF", "0").replace("3", "9"))
    async with runner(agent, store) as one:
        result = await one.run(source, run_id="run_a", budget={"tokens": 350})
    assert result.error is not None
    assert result.error["name"] == "BudgetExceeded"
    assert spent(result) == {"output_tokens": 400, "agents": 4}
    async with runner(agent, store) as one:
        again = await (await one.resume("run_a", retry_failed=True)).result()
    assert again.error is not None
    assert again.error["name"] == "BudgetExceeded"
    assert len(agent.attempts) == 4
    assert spent(again) == spent(result)


async def test_steps_that_failed_get_all_their_attempts_when_they_are_tried_again() -> None:
    store, agent = MemoryRuns(), _Failing(5)
    source = script(_RETRY.replace("BACKOFF", "0"))
    async with runner(agent, store) as one:
        assert (await one.run(source, run_id="run_a")).status == "failed"
        result = await (await one.resume("run_a", retry_failed=True)).result()
    assert (result.result, agent.attempts) == ("done", [1, 2, 3, 1, 2, 3])
    assert spent(result) == {"output_tokens": 600, "agents": 6}


class _Correcting:
    """An agent whose first answer does not fit, and that stops in the middle of its correction."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, bool]] = []
        self.goes_on = asyncio.Event()

    async def __call__(self, call: AgentCall) -> AgentAnswer:
        self.calls.append((call.prompt.partition("\n")[0], call.correction))
        if not call.correction:
            return AgentAnswer("high", WorkflowUsage(output_tokens=10))
        assert "$: 'high' is not of type 'object'" in call.prompt
        call.report(WorkflowUsage(output_tokens=1))
        call.report(WorkflowUsage(output_tokens=2))
        await self.goes_on.wait()
        return AgentAnswer({"score": 1}, WorkflowUsage(output_tokens=10))


async def test_a_correction_that_was_stopped_goes_on_with_the_faults_and_its_use_counts() -> None:
    store, agent = MemoryRuns(), _Correcting()
    source = script("return agent('Rate', {schema: {type: 'object'}})")
    async with runner(agent, store) as one:
        await one.start(source, run_id="run_a")
        await until(lambda: len(agent.calls) == 2)
    agent.goes_on.set()
    async with runner(agent, store) as one:
        result = await (await one.resume("run_a")).result()
    assert result.result == {"score": 1}
    assert agent.calls == [("Rate", False), ("Rate", True), ("Rate", True)]
    # The correction was stopped when it had used 2, and goes on.
    assert spent(result) == {"output_tokens": 22, "agents": 2}


async def test_the_events_of_a_step_have_the_use_of_all_its_attempts() -> None:
    events: list[WorkflowEvent] = []
    store, agent = MemoryRuns(), _Failing(2)
    body = _RETRY.replace("return", "await").replace("BACKOFF", "0") + "; await ask('on?')"
    async with runner(agent, store, events=events.append) as one:
        await one.run(script(body), run_id="run_a")
    async with runner(agent, store, events=events.append) as one:
        await (await one.resume("run_a")).rest()
    usages = [event.usage for event in events if event.type == "workflow.agent_completed"]  # type: ignore[attr-defined]
    assert [(one["output_tokens"], one["agents"]) for one in usages] == [(300, 3), (300, 3)]


class _Asking:
    """An agent that asks in each attempt, and fails after the first decision."""

    def __init__(self) -> None:
        self.decided: list[Any] = []

    async def __call__(self, call: AgentCall) -> Any:
        if call.decisions is None:
            raise AgentPaused([{"id": "a1", "attempt": call.attempt}])
        self.decided.append((call.attempt, call.decisions))
        if len(self.decided) == 1:
            raise AgentFailed("no", WorkflowUsage(output_tokens=3))
        return "done"


async def test_a_decision_counts_for_its_attempt_and_not_for_the_next_question() -> None:
    store, agent = MemoryRuns(), _Asking()
    source = script(_RETRY.replace("BACKOFF", "0"))
    async with runner(agent, store) as one:
        first = await one.run(source, run_id="run_a")
        await one.answer("run_a", first.waiting_for[0]["id"], {"a1": "yes"})
        second = await (await one.resume("run_a")).rest()
    assert second.waiting_for[0]["approvals"] == [{"id": "a1", "attempt": 2}]
    assert first.waiting_for[0]["id"] != second.waiting_for[0]["id"]
    async with runner(agent, store) as one:
        assert (await _answered(one, second)).result == "done"
    assert agent.decided == [(1, {"a1": "yes"}), (2, {"a1": "yes"})]


async def _answered(one: Any, result: WorkflowResult) -> WorkflowResult:
    await one.answer("run_a", result.waiting_for[0]["id"], {"a1": "yes"})
    answered: WorkflowResult = await (await one.resume("run_a")).rest()
    return answered


class _Reporting:
    """An agent that reports what it uses after a decision, and works on until it may end."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.ends = asyncio.Event()

    async def __call__(self, call: AgentCall) -> Any:
        self.calls.append(call.decisions)
        if call.decisions is None:
            raise AgentPaused([{"id": "a1"}])
        call.report(WorkflowUsage(output_tokens=7))
        await self.ends.wait()
        return "done"


async def test_a_call_that_was_stopped_behind_a_decision_gets_the_decision_again() -> None:
    store, agent = MemoryRuns(), _Reporting()
    async with runner(agent, store) as one:
        paused = await one.run(script("return agent('a')"), run_id="run_a")
        await one.answer("run_a", paused.waiting_for[0]["id"], {"a1": "yes"})
        await one.resume("run_a")
        await until(lambda: len(agent.calls) == 2)
    agent.ends.set()
    async with runner(agent, store) as one:
        result = await (await one.resume("run_a")).rest()
    assert result.result == "done"
    assert agent.calls == [None, {"a1": "yes"}, {"a1": "yes"}]
    assert spent(result) == {"output_tokens": 7, "agents": 1}


class _Writing:
    """An agent that writes a file in its worktree, and fails the first time."""

    takes_cwd = True

    def __init__(self) -> None:
        self.found: list[list[str]] = []

    async def __call__(self, call: AgentCall) -> str:
        assert call.cwd is not None
        self.found.append(
            sorted(path.name for path in call.cwd.iterdir() if path.name[:7] == "attempt")
        )
        (call.cwd / f"attempt{call.attempt}.txt").write_text("x")
        if call.attempt == 1:
            raise AgentFailed("no")
        return "done"


@pytest.mark.parametrize("stops", [False, True])
async def test_the_work_of_an_isolated_agent_is_saved_for_its_next_attempt(
    repository: Path, stops: bool
) -> None:
    store, agent = MemoryRuns(), _Writing()
    options = {"worktrees": repository}
    backoff = 1000 if stops else 0
    retry = f"retry: {{maxAttempts: 2, backoffMs: {backoff}}}"
    body = f"return agent('a', {{isolation: 'worktree', {retry}}})"
    async with runner(agent, store, **options) as one:
        handle = await one.start(script(body), run_id="run_a")
        if stops:
            await until(lambda: _recorded(store, 1))
        else:
            result = await handle.result()
    if stops:
        async with runner(agent, store, **options) as one:
            result = await (await one.resume("run_a")).result()
    assert result.result["files"] == ["attempt1.txt", "attempt2.txt"]
    assert agent.found == [[], ["attempt1.txt"]]
