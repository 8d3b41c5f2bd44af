"""The tools as models see them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from workflow_talk import Readers, Talk, call, workflow

from interpstack_langchain.workflows import WorkflowMiddleware


def fields(middleware: WorkflowMiddleware) -> dict[str, list[str]]:
    shown = [convert_to_openai_tool(tool)["function"] for tool in middleware.tools]
    return {one["name"]: list(one["parameters"]["properties"]) for one in shown}


async def test_models_see_the_fields_that_they_may_fill() -> None:
    workflow_fields = ["source", "name", "args", "budget"]
    usual = {
        "workflow_check": workflow_fields,
        "workflow_start": [*workflow_fields, "wait_seconds"],
        "workflow_status": ["run", "wait_seconds"],
        "workflow_result": ["run", "path", "offset"],
        "workflow_stop": ["run"],
    }
    async with WorkflowMiddleware() as middleware:
        assert fields(middleware) == usual
    async with WorkflowMiddleware(writes=False, tool_prefix="", signals=True) as middleware:
        shown = fields(middleware)
        assert shown["check"] == ["name", "args", "budget"]
        assert shown["send"] == ["run", "to", "value", "wait_seconds"]


@pytest.mark.parametrize(
    ("verb", "args", "says"),
    [
        ("status", {"wait_seconds": -1}, "wait_seconds"),
        ("result", {"run": "x", "offset": -1}, "offset"),
        ("result", {}, "run"),
        ("start", {"source": 3}, "source"),
        ("start", {"source": "x", "budget": {"tokens": -1}}, "tokens"),
        ("start", {"source": "x", "budget": {"tokens": "many"}}, "tokens"),
    ],
)
async def test_malformed_inputs_are_reported_to_the_model(
    verb: str, args: dict[str, Any], says: str
) -> None:
    async with WorkflowMiddleware(agents={"default": Readers()}) as middleware:
        (message,) = [
            one
            for one in (await Talk(middleware).turn(call(f"workflow_{verb}", **args)))["messages"]
            if one.type == "tool"
        ]
        assert message.status == "error"
        assert says in message.text


async def test_copies_of_tools_do_the_same() -> None:
    async with WorkflowMiddleware(agents={"default": Readers()}) as middleware:
        talk = Talk(middleware)
        middleware.tools = [copy.deepcopy(tool) for tool in middleware.tools]
        answer = await Talk(middleware).do("start", source=workflow("return 7"), wait_seconds=30)
        assert "result: 7" in answer
        assert "completed" in await talk.do("status"), "both have the same runs"
