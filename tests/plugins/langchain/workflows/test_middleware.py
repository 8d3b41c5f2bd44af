"""Agents that check, start and follow workflows, and stop them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from git_repositories import left_of, repository
from workflow_runs import MemoryRuns
from workflow_talk import ASKS, Readers, Talk, call, run_of, workflow

from interpstack import ConfigurationError
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.workflows import WorkflowMiddleware
from interpstack_workflows.api import Agent, AgentAnswer, AgentCall, WorkflowRunner

__all__ = ["repository"]

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])

_KNOWN = {
    "known": workflow(
        "return agent(`known ${args.x}`)", "known", argsSchema={"type": "object", "required": ["x"]}
    )
}


class Editor(Agent):
    """Writes a file named as its prompt, in the folder of the call."""

    takes_cwd = True

    async def run(self, call: AgentCall) -> AgentAnswer:
        assert call.cwd is not None
        (call.cwd / call.prompt).write_text("new\n")
        return AgentAnswer("done")


async def test_an_agent_of_a_model_s_workflow_is_isolated(repository: Path) -> None:
    source = workflow("const one = await agent('a.txt', {isolation: 'worktree'}); return one.files")
    async with WorkflowMiddleware(agents={"default": Editor()}, worktrees=repository) as middleware:
        talk = Talk(middleware, True)
        assert (await talk.do("check", source=source)).startswith("no errors")
        answer = await talk.do("start", source=source, wait_seconds=30)
    assert answer.endswith('result: ["a.txt"]')
    assert 'isolation: "worktree"' in str(talk.seen[0][0].text)
    assert left_of(repository) == []


@both
async def test_a_workflow_is_checked_started_and_read(use_async: bool, tmp_path: Path) -> None:
    agent, url = Readers(), f"sqlite:///{tmp_path / 'runs.db'}"
    source = workflow(
        "phase('Read'); const a = await parallel(args.map((x) => () => agent(x)));"
        "return {answers: a, text: 'é'.repeat(9000)}"
    )
    async with WorkflowMiddleware(agents={"default": agent}, store=url) as middleware:
        talk = Talk(middleware, use_async)
        checked = await talk.do("check", source=source, args=["a"])
        assert checked.splitlines() == [
            "no errors; nothing has run",
            "phases: Read",
            "would call agent default once: 'a'",
        ]
        assert agent.called == []
        answer = await talk.do("start", source=source, args=["a", "fail b"], wait_seconds=30)
        *lines, result, rest = answer.splitlines()
        assert lines == [
            f"run {run_of(answer)} 'written': completed; 2 agents, 0 tokens",
            "phase 'Read': 1 ok, 1 failed",
            "failed: ValueError: cannot fail b",
            "failures that became null: 1",
        ]
        assert result.startswith('result (9038 characters, the beginning): {"answers":["echo: a",')
        assert rest == "read the rest with workflow_result(run, path, offset)"
        assert len(answer) < 4600, "the rest of the result stays out of the context"
        part = await talk.do("result", run=run_of(answer), path="answers/0")
        assert part == "text, characters 0 to 7 of 7\necho: a"
        piece = await talk.do("result", run=run_of(answer), path="text", offset=8000)
        assert piece == "text, characters 8000 to 9000 of 9000\n" + "é" * 1000
        assert await talk.do("status") == f"{run_of(answer)} 'written': completed"
        assert sorted(agent.called) == ["a", "fail b"]


@both
async def test_a_run_goes_on_while_the_agent_does_not(use_async: bool) -> None:
    agent = Readers()
    source = workflow("log('begun'); phase('P'); return agent('slow')")
    async with WorkflowMiddleware(agents={"default": agent}) as middleware:
        talk = Talk(middleware, use_async)
        run = run_of(await talk.do("start", source=source))
        answer = ""
        while "at work" not in answer:
            answer = await talk.do("status", run=run, wait_seconds=0.3)
        assert answer.splitlines() == [
            f"run {run} 'written': running; 1 agents, 0 tokens",
            "log: begun",
            "phase 'P': 1 running",
            "at work: default 'slow'",
        ]
        agent.go.set()
        assert 'result: "echo: slow"' in await talk.do("status", run=run, wait_seconds=30)
        assert agent.called == ["slow"]


async def test_a_run_is_stopped_once() -> None:
    agent = Readers()
    async with WorkflowMiddleware(agents={"default": agent}) as middleware:
        talk = Talk(middleware)
        run = run_of(await talk.do("start", source=workflow("return agent('slow')")))
        for _ in range(2):
            assert f"run {run} 'written': cancelled" in await talk.do("stop", run=run)
        assert "has no result: it is cancelled" in await talk.do("result", run=run)


async def test_saved_workflows_are_offered_and_checked_by_name() -> None:
    agent = Readers()
    async with WorkflowMiddleware(
        agents={"default": agent, "reader": agent}, workflows=_KNOWN, writes=False
    ) as middleware:
        talk = Talk(middleware)
        assert 'result: "echo: known 1"' in await talk.do(
            "start", name="known", args={"x": 1}, wait_seconds=30
        )
        assert (
            "'known' do not match its argsSchema: $: 'x' is a required property"
            in await talk.do("start", name="known", args={})
        )
        assert "Unknown workflow: 'knwn'; did you mean 'known'?" in await talk.do(
            "start", name="knwn"
        )
        prompt = str(talk.seen[0][0].content)
        assert '- `known`: does known Arguments: `{"type":"object","required":["x"]}`' in prompt
        assert "agentType" not in prompt, "it writes none"


async def test_models_of_one_conversation_name_no_run_of_another() -> None:
    async with WorkflowMiddleware(agents={"default": Readers()}) as middleware:
        talk = Talk(middleware)
        mine = run_of(await talk.do("start", source=workflow("return 1"), wait_seconds=30))
        assert "has no run" in await talk.do("status", thread="other", run=mine)
        assert "has no run" in await talk.do("stop", thread="other", run=mine)
        assert await talk.do("status", thread="other") == "no runs"
        nobody = Talk(middleware, checkpointer=None)
        assert await nobody.do("status", thread=None) == "no runs"
        own = await nobody.answers(
            call("workflow_start", source=workflow("return 2")),
            call("workflow_status"),
            thread=None,
        )
        assert own[1].startswith(f"{run_of(own[0])} 'written': ")
        assert "completed" in await talk.do("status", run=mine.rpartition("_")[2])


async def test_limits_of_the_host_are_enforced() -> None:
    agent = Readers()
    async with WorkflowMiddleware(
        agents={"default": agent}, budget={"agents": 2}, max_running=1, max_source_chars=300
    ) as middleware:
        talk = Talk(middleware)
        source = workflow("await agent('a'); await agent('b'); return agent('c')")
        assert await talk.do("start", source=source, budget={"agents": 3}) == (
            "budget.agents is 3, at most 2 here; ask for less, or leave it out"
        )
        answer = await talk.do("start", source=source, wait_seconds=30)
        assert "error: BudgetExceeded: the budget of the run is used up: 2 of 2 agents" in answer
        assert agent.called == ["a", "b"]
        long = await talk.do("start", source=workflow("x" * 300))
        assert "characters, at most 300 here" in long
        first = run_of(await talk.do("start", source=workflow("return agent('slow')")))
        second = await talk.do("start", source=workflow("return 2"))
        assert second.startswith(
            f"this conversation has 1 active run, the maximum: {first} (running"
        )
        agent.go.set()
        await talk.do("status", run=first, wait_seconds=30)
        assert "result: 2" in await talk.do("start", source=workflow("return 2"), wait_seconds=30)


async def test_two_calls_of_one_message_start_one_run_each() -> None:
    agent = Readers()
    async with WorkflowMiddleware(agents={"default": agent}, max_running=2) as middleware:
        talk = Talk(middleware)
        message = call("workflow_start", source=workflow("return agent('x')"), wait_seconds=30)
        message.tool_calls.append(dict(message.tool_calls[0]))  # type: ignore[arg-type]
        found = await talk.answers(message)
        assert len({run_of(text) for text in found}) == 2
        assert agent.called == ["x", "x"]


async def test_it_works_beside_an_interpreter_whose_code_uses_it() -> None:
    agent = Readers()
    async with WorkflowMiddleware(agents={"default": agent}) as middleware:
        interpreter = CodeInterpreterMiddleware(ptc=["workflow_start", "workflow_status"])
        async with interpreter:
            talk = Talk(middleware, others=(interpreter,))
            source = workflow("return agent('from code')")
            code = f"await tools.workflowStart({{source: {source!r}, wait_seconds: 30}})"
            (text,) = await talk.answers(call("eval", code=code))
            assert "echo: from code" in text
            assert agent.called == ["from code"]


async def test_a_ready_runner_is_used_and_stays_open() -> None:
    agent = Readers()
    async with WorkflowRunner(agents={"default": agent}, store=MemoryRuns()) as runner:
        async with WorkflowMiddleware(runner, tool_prefix="wf_") as middleware:
            talk = Talk(middleware)
            (text,) = await talk.answers(call("wf_start", source=ASKS, wait_seconds=30))
            assert "waits for question root/" in text
            assert 'one of ["yes","no"]; a person answers it, not you' in text
            assert middleware.name == "WorkflowMiddleware[wf_]"
        (waiting,) = await runner.runs("waiting")
        await runner.answer(waiting.id, waiting.waiting_for[0]["id"], "yes")
        done = await (await runner.resume(waiting.id)).result()
        assert done.result == {"notes": "echo: notes", "ship": "yes"}
        assert agent.called == ["notes"]


async def test_the_host_uses_the_runner_where_it_lives() -> None:
    async with WorkflowMiddleware(agents={"default": Readers()}) as middleware:
        talk = Talk(middleware, use_async=False)
        run = run_of(await talk.do("start", source=ASKS, wait_seconds=30))

        async def answer(runner: WorkflowRunner) -> None:
            (asked,) = (await runner.show(run)).waiting_for
            await runner.answer(run, asked["id"], "no")

        await middleware.use(answer)
        assert '"ship":"no"' in await talk.do("status", run=run, wait_seconds=30)


def test_closing_works_without_an_event_loop() -> None:
    with WorkflowMiddleware(agents={"default": Readers()}) as middleware:
        talk = Talk(middleware, use_async=False)
        assert "running" in asyncio.run(talk.do("start", source=workflow("return agent('slow')")))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"runner": 3}, "takes a WorkflowRunner"),
        ({"agents": {"a": 3}}, "is not an agent"),
        ({"tool_prefix": "a b"}, "tool_prefix takes"),
        ({"budget": {"token": 1}}, "budget takes"),
        ({"max_running": 0}, "max_running takes a whole number"),
        ({"wall_seconds": 0}, "wall_seconds takes a number of seconds above 0"),
        ({"questions": "me"}, "questions takes one of 'host', 'interrupt', 'model'"),
        ({"signals": 1}, "signals takes True or False"),
    ],
)
def test_wrong_arguments_say_what_is_accepted(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        WorkflowMiddleware(**options)


async def test_a_ready_runner_takes_nothing_beside_it() -> None:
    async with WorkflowRunner() as runner:
        with pytest.raises(ConfigurationError, match="agents cannot be passed together with"):
            WorkflowMiddleware(runner, agents={"default": Readers()})
