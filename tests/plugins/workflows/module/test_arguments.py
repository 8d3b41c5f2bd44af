"""Arguments of workflows are checked against the schema in their metadata."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_runs import Prompts, runner, script

from interpstack_workflows.errors import ArgumentsError, MetadataError
from interpstack_workflows.module.arguments import arguments_schema, check_arguments
from interpstack_workflows.module.metadata import WorkflowMetadata

_SCHEMA = (
    "{ type: 'object', required: ['topic'], properties: { topic: { type: 'string' } },"
    " additionalProperties: false }"
)


def _script(body: str, name: str = "tested", schema: str = _SCHEMA) -> str:
    return script(body, name).replace("'tested' }", f"'tested', argsSchema: {schema} }}")


def _metadata(schema: Any) -> WorkflowMetadata:
    return WorkflowMetadata(name="n", description="d", args_schema=schema)


async def test_a_workflow_without_a_schema_takes_any_json() -> None:
    await check_arguments(_metadata(None), [1, {"a": None}])
    assert arguments_schema(_metadata(None)) is None


@pytest.mark.parametrize("args", [{"a": object()}, [float("nan")], {1, 2}])
async def test_arguments_that_are_no_json_are_refused(args: Any) -> None:
    with pytest.raises(ArgumentsError, match="The arguments of workflow 'n': "):
        await check_arguments(_metadata(None), args)


async def test_other_arguments_are_refused_before_anything_runs() -> None:
    agent = Prompts()
    async with runner(agent) as one:
        with pytest.raises(ArgumentsError, match=r"not match its argsSchema: \$\.topic: 1 is not"):
            await one.run(_script("return agent(args.topic)"), {"topic": 1})
        with pytest.raises(ArgumentsError, match="'topic' is a required property"):
            await one.start(_script("return agent(args.topic)"), {})
        assert not await one.runs()
        result = await one.run(_script("return agent(args.topic)"), {"topic": "tides"})
    assert (result.result, agent.called) == ("echo: tides", ["tides"])


async def test_a_child_is_not_called_with_other_arguments() -> None:
    agent = Prompts()
    kid = {"kid": _script("return agent('kid')", "kid")}
    async with runner(agent, workflows=kid) as one:
        failed = await one.run(script("return parallel([() => workflow('kid', {topic: 2})])"))
        good = await one.run(script("return workflow('kid', {topic: 'a'})"))
    assert failed.error is not None
    assert failed.error["name"] == "ArgumentsError"
    assert "'kid' do not match its argsSchema: $.topic: 2 is not of type" in failed.error["message"]
    assert (good.result, agent.called) == ("echo: kid", ["kid"])


async def test_a_changed_script_has_to_take_the_arguments_of_its_run() -> None:
    async with runner(Prompts(), linger_seconds=0) as one:
        run = await one.run(script("return ask('?')"), 1)
        with pytest.raises(ArgumentsError, match="1 is not of type 'object'"):
            await one.resume(run.run_id, source=_script("return ask('?')"))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "tuple"}, "meta.argsSchema is not a JSON Schema"),
        ({"properties": {"a": {"pattern": "a*"}}}, "meta.argsSchema: pattern is not supported"),
        ({"$ref": "http://x"}, "meta.argsSchema: .ref takes a reference within the schema"),
    ],
)
async def test_a_schema_that_cannot_be_used_is_named(schema: Any, message: str) -> None:
    with pytest.raises(MetadataError, match=f"^n: {message}"):
        await check_arguments(_metadata(schema), {})
