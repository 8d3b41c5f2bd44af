"""Options of a runner that the middleware hands on."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from workflow_talk import Talk, workflow

from interpstack import ConfigurationError
from interpstack_commands import ExecSpec
from interpstack_langchain.workflows import WorkflowMiddleware
from interpstack_langchain.workflows.runner_options import RunnerOptions
from interpstack_workflows.api import (
    Agent,
    AgentAnswer,
    AgentCall,
    Scheduler,
    WorkflowRunner,
)


class DescribedAgent(Agent):
    """Answers with the model that it was asked for."""

    async def run(self, call: AgentCall) -> AgentAnswer:
        return AgentAnswer(f"{call.prompt} {call.provider} {call.model}")


def test_options_are_those_of_a_runner() -> None:
    assert [*RunnerOptions.__annotations__] == [*inspect.signature(WorkflowRunner).parameters]


async def test_a_workflow_of_a_model_has_sandboxes_models_and_modules_of_the_host() -> None:
    async def shell(spec: ExecSpec) -> Any:
        return {"exitCode": 0, "stdout": spec.command, "stderr": ""}

    source = """
        import { exec } from "workflow:sandbox";
        import { word } from "team:words";
    """ + workflow(
        "const ran = await exec('local/a', {command: 'ls'});"
        "return [ran.stdout, await agent(word, {model: 'fast'})]"
    )
    async with WorkflowMiddleware(
        agents={"default": DescribedAgent()},
        sandboxes={"local/a": shell},
        models={"fast": "acme/small"},
        modules={"team:words": "export const word = 'tide';"},
        scheduler=Scheduler(1),
    ) as middleware:
        answer = await Talk(middleware, True).do("start", source=source, wait_seconds=30)
    assert answer.endswith('result: ["ls","tide acme small"]')


def test_unknown_options_are_refused_with_those_that_are_known() -> None:
    with pytest.raises(ConfigurationError) as raised:
        WorkflowMiddleware(sandbox={})  # type: ignore[call-arg]
    message = str(raised.value)
    start = "WorkflowMiddleware takes no sandbox; it takes runner, engine, agents,"
    assert message.startswith(start)
    assert "sandboxes" in message
    assert "max_running" in message


async def test_nothing_is_handed_to_a_ready_runner() -> None:
    async with WorkflowRunner() as runner:
        with pytest.raises(ConfigurationError, match="sandboxes cannot be passed together with a"):
            WorkflowMiddleware(runner, sandboxes={})
    with pytest.raises(ConfigurationError, match="takes a WorkflowRunner; got"):
        WorkflowMiddleware({})  # type: ignore[arg-type]
