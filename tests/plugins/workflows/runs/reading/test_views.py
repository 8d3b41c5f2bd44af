"""A runner lists its agents and workflows, and reads the runs of its store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script, until

from interpstack import ConfigurationError
from interpstack_workflows.api import Message, UnknownRun, UnknownWorkflow, WorkflowError
from interpstack_workflows.runs.runner import WorkflowRunner


async def test_agents_are_listed_with_their_descriptions() -> None:
    async def reader(prompt: str) -> str:
        """Reads
        files.

        And more.
        """
        return prompt

    class Writer:
        """Writes."""

        async def __call__(self, prompt: str) -> str:
            return prompt

    async with WorkflowRunner(agents={"r": reader, "w": Writer(), "p": Prompts()}) as one:
        described = {name: agent.description for name, agent in one.agents.items()}
    assert described["r"] == "Reads files."
    assert described["w"] == "Writes."
    with pytest.raises(TypeError):
        one.agents["x"] = one.agents["r"]  # type: ignore[index]


async def test_known_workflows_are_listed_without_faulty_ones(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text(script("return 1", "export things"), "utf-8")
    (tmp_path / "b.js").write_text("export const meta = x", "utf-8")
    async with runner(Prompts(), workflows=[tmp_path]) as one:
        assert list(await one.workflows()) == ["export things"]
        assert (await one.run("export things")).result == 1
    named = {"good": script("return 1"), "bad": "export default 1", "gone": tmp_path / "c.js"}
    async with runner(Prompts(), workflows=named) as one:
        assert list(await one.workflows()) == ["good"]
        with pytest.raises(UnknownWorkflow, match="No workflow file"):
            await one.rehearse("gone")


async def test_runs_are_shown_as_they_are_stored() -> None:
    async with runner(Prompts()) as one:
        done = await one.run(script("return agent('a')"))
        assert (await one.show(done.run_id)).result == "echo: a"
        assert [run.id for run in await one.runs()] == [done.run_id]
        assert [step.title for step in (await one.tree(done.run_id)).root.steps.values()] == ["a"]
        assert (await one.diff(done.run_id, script("return agent('a')"))).same
        with pytest.raises(UnknownRun, match="no run 'x'"):
            await one.tree("x")


async def test_questions_are_listed_while_the_run_works_waits_and_after_its_end() -> None:
    agent, store = Prompts(), MemoryRuns()
    body = "await parallel([() => ask('Ship?', {choices: ['yes']}), () => agent('for ever')])"
    async with runner(agent, store) as one, runner(Prompts(), store) as elsewhere:
        handle = await one.start(script(body))
        await until(lambda: elsewhere.questions(handle.run_id))
        (question,) = await elsewhere.questions(handle.run_id)
        assert (question["question"], question["kind"]) == ("Ship?", "ask")
        with pytest.raises(WorkflowError, match="not one of the choices"):
            await elsewhere.answer(handle.run_id, question["id"], "no")
        await elsewhere.answer(handle.run_id, question["id"], "yes")
        await one.cancel(handle.run_id)
        await handle.result()
        assert await elsewhere.questions(handle.run_id) == []
        resting = await one.run(script("return ask('Ship?')"))
        assert await elsewhere.questions(resting.run_id) == list(resting.waiting_for)


async def test_a_question_is_marked_whose_answer_no_run_has_taken_yet() -> None:
    store = MemoryRuns()
    body = "return parallel([() => ask('A?'), () => ask('B?'), () => wait('go')])"
    async with runner(Prompts(), store) as one:
        first, second, signal = (await one.run(script(body), run_id="run_a")).waiting_for
        await store.send("run_a", Message(kind="answer", id=first["id"], value="yes"))
        marked = {**first, "answered": True}
        assert await one.questions("run_a") == [marked, second]
        assert await one.waits("run_a") == [marked, second, signal]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"status": "done"}, "status takes pending, running, .*, or None for all; got 'done'"),
        ({"status": ["failed"]}, "status takes pending"),
        ({"limit": 0}, "limit takes a whole number above 0; got 0"),
        ({"limit": None}, "limit takes a whole number above 0; got None"),
    ],
)
async def test_runs_that_there_cannot_be_are_refused(wanted: Any, message: str) -> None:
    async with WorkflowRunner() as one:
        with pytest.raises(ConfigurationError, match=message):
            await one.runs(**wanted)
        assert await one.runs(None, 1) == await one.runs("failed") == []
