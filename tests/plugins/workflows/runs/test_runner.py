"""The public face: starting, following, and clear refusals."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script, until

from interpstack import ConfigurationError, InterpreterStack
from interpstack_workflows.api import (
    MetadataError,
    TakenRun,
    UnknownRun,
    UnknownWorkflow,
    WorkflowError,
)
from interpstack_workflows.runs.runner import WorkflowRunner


async def test_a_runner_runs_files_names_and_sources(tmp_path: Path) -> None:
    path = tmp_path / "double.js"
    path.write_text(script("return args * 2", "double"), "utf-8")
    async with WorkflowRunner(workflows=[tmp_path]) as one:
        for what in (path, "double", script("return args * 2")):
            result = await one.run(what, 4)
            assert (result.status, result.result) == ("completed", 8)


async def test_wrong_starts_say_what_is_accepted() -> None:
    async with runner(Prompts(), workflows={"known": script("return 1")}) as one:
        with pytest.raises(UnknownWorkflow, match="Known workflows: known"):
            await one.run("unknown")
        with pytest.raises(MetadataError):
            await one.run("export default 1")
        with pytest.raises(WorkflowError, match="wall_seconds"):
            await one.run("known", wall_seconds=0)
        with pytest.raises(TypeError, match="no option 'budgt'; it has budget, budgets, "):
            await one.run("known", budgt=3)
    with pytest.raises(ConfigurationError, match="is not an agent"):
        WorkflowRunner(agents={"x": 3})


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("() => agent('a', {shema: {}})", "agent has no option 'shema'"),
        ("() => agent('a', {schema: 3})", "schema"),
        ("() => ask('Ship?', {choice: []})", "ask has no option 'choice'"),
    ],
)
@pytest.mark.parametrize("many", ["parallel([{}, () => agent('b')])", "pipeline([1, 2], {})"])
async def test_a_wrong_option_is_no_failed_task(task: str, message: str, many: str) -> None:
    async with runner(Prompts()) as one:
        result = await one.run(script(f"return {many.replace('{}', task)}"))
    assert result.status == "failed"
    assert result.error["name"] == "TypeError"
    assert message in result.error["message"]


async def test_runs_that_are_not_there_are_named() -> None:
    async with runner(Prompts()) as one:
        first = await one.run(script("return 1"))
        for call in (
            one.show("run_x"),
            one.resume("run_x"),
            one.cancel("run_x"),
            one.signal("run_x", "s"),
            one.answer("run_x", "q", 1),
            one.diff("run_x", script("")),
        ):
            with pytest.raises(UnknownRun, match=f"no run 'run_x'; its runs are: {first.run_id}"):
                await call


async def test_ended_runs_take_no_messages() -> None:
    async with runner(Prompts()) as one:
        done = await one.run(script("return 1"))
        for call in (one.cancel(done.run_id), one.signal(done.run_id, "s")):
            with pytest.raises(WorkflowError, match="has ended already: it is completed"):
                await call
        again = await one.resume(done.run_id)
        assert await again.result() == done
        assert (await one.show(done.run_id)).status == "completed"
        assert [run.id for run in await one.runs("completed")] == [done.run_id]


async def test_a_question_brings_a_run_to_rest() -> None:
    async with runner(Prompts(), linger_seconds=0) as one:
        asked = await one.run(script("return ask('Ship?', {choices: ['yes', 'no']})"))
        assert asked.status == "waiting"
        (question,) = asked.waiting_for
        assert (question["kind"], question["question"]) == ("ask", "Ship?")
        with pytest.raises(WorkflowError, match="not one of the choices"):
            await one.answer(asked.run_id, question["id"], "perhaps")
        with pytest.raises(
            WorkflowError, match=r"no open question 'x'; open questions: .*\(Ship\?\)"
        ):
            await one.answer(asked.run_id, "x", "yes")
        await one.answer(asked.run_id, question["id"], "yes")
        handle = await one.resume(asked.run_id)
        assert (await handle.result()).result == "yes"


async def test_a_live_question_is_answered_without_a_rest() -> None:
    async with runner(Prompts(), linger_seconds=60) as one:
        handle = await one.start(script("return ask('Ship?')"))
        await until(lambda: (live := one._supervisor.active_run(handle.run_id)) and live.live)
        live = one._supervisor.active_run(handle.run_id)
        assert live is not None
        await until(lambda: live.live is not None and live.live.waits)
        assert live.live is not None
        (question,) = live.live.waits.to_json()
        await one.answer(handle.run_id, question["id"], {"yes": True})
        assert (await handle.result()).result == {"yes": True}


class DelayedStore(MemoryRuns):
    """A store in memory that delays one run that was taken."""

    def __init__(self) -> None:
        super().__init__()
        self.delays = False
        self.asked, self.let = asyncio.Event(), asyncio.Event()

    async def take(self, *given: Any, **named: Any) -> TakenRun:
        taken = await super().take(*given, **named)
        if self.delays:
            self.delays = False
            self.asked.set()
            await self.let.wait()
        return taken


async def test_questions_are_answered_before_the_script_comes_to_them_again() -> None:
    store = DelayedStore()
    async with runner(Prompts(), store, linger_seconds=0) as one:
        resting = await one.run(script("return Promise.all([ask('One?'), ask('Two?')])"))
        first, second = (wait["id"] for wait in resting.waiting_for)
        store.delays = True
        await one.answer(resting.run_id, first, 1)
        await store.asked.wait()  # the run is live, and its script has not begun
        await one.answer(resting.run_id, second, 2)
        store.let.set()
        handle = await one.resume(resting.run_id)
        assert (await handle.result()).result == [1, 2]


async def test_a_stack_of_the_host_stays_open() -> None:
    stack = InterpreterStack("quickjs")
    for _ in range(2):
        async with WorkflowRunner(stack, store=MemoryRuns()) as one:
            assert (await one.run(script("return 1"))).result == 1
    await stack.aclose()


async def test_a_closed_runner_leaves_its_runs_to_others() -> None:
    agent, store = Prompts(), MemoryRuns()
    one = runner(agent, store)
    handle = await one.start(script("await agent('a'); return agent('for ever b')"))
    await until(lambda: len(agent.called) == 2)
    await one.aclose()
    await one.aclose()
    assert agent.stopped == ["for ever b"]
    with pytest.raises(WorkflowError, match="the runner was closed"):
        await handle.result()
    other = Prompts()
    async with runner(other, store) as two:
        again = await two.resume(handle.run_id)
        await until(lambda: other.called)
        assert other.called == ["for ever b"]
        await two.cancel(handle.run_id)
        assert (await again.result()).status == "cancelled"


_PHASES = """
export const meta = {
  name: "phased", description: "d", phases: [{ title: "Read" }, { title: "Judge" }],
};
export default async (args) => {
  phase("Read");
  await agent("a");
  phase(`Round ${args}`);
  await agent("b");
  return workflow("child");
};
"""


@pytest.mark.parametrize("name", ["Reed", "read", "Judges", "childs"])
async def test_a_budget_of_a_misspelt_phase_or_child_is_refused(name: str) -> None:
    agent = Prompts()
    async with runner(agent, workflows={"child": script("return 1", "child")}) as one:
        with pytest.raises(WorkflowError, match=f"limits for '{name}', .* did you mean '"):
            await one.run(_PHASES, 1, budgets={name: 5})
    assert not agent.called


async def test_a_run_names_the_budgets_that_it_had_no_use_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    names = ["Read", "Judge", "Round 1", "Round 2", "child", "phased"]
    children = {"child": script("await ask('?'); return 1", "child")}
    store = MemoryRuns()
    async with runner(Prompts(), store, workflows=children) as one:
        waiting = await one.run(_PHASES, 1, budgets=dict.fromkeys(names, 1000))
        assert waiting.status == "waiting"
        assert "unused_budgets" not in waiting.census
    assert not caplog.records
    async with runner(Prompts(), store, workflows=children) as other:
        await other.answer(waiting.run_id, waiting.waiting_for[0]["id"], "yes")
        result = await (await other.resume(waiting.run_id)).result()
    assert result.status == "completed"
    assert result.census["unused_budgets"] == ["Judge", "Round 2", "phased"]
    assert "'Judge', 'Round 2', 'phased'" in caplog.text


@pytest.mark.parametrize(
    "call",
    [
        "agent('a', {label: 'x'}, {schema: {}})",
        "workflow('child', {}, {budget: 5})",
        "parallel([() => agent('a')], {}, 5)",
        "parallel.settled([() => agent('a')], {}, 5)",
        "ask('q', {}, 'yes')",
        "wait('s', {}, 3)",
        "checkpoint('c', 1, 2)",
        "phase('p', {}, {})",
        "sleep(1, 2)",
        "exec('local/x', {command: 'ls'}, {cwd: '/'})",
        "pipeline(['child'], workflow)",
    ],
)
async def test_an_argument_that_would_have_no_effect_is_refused(call: str) -> None:
    agent = Prompts()
    async with runner(agent, workflows={"child": script("return 1", "child")}) as one:
        source = script(f"const {{ ask, wait, checkpoint }} = SW.extra; return {call}")
        result = await one.run(source)
    assert result.status == "failed"
    assert result.error["name"] == "TypeError"
    assert "takes no further argument; got" in result.error["message"]
    assert not agent.called
