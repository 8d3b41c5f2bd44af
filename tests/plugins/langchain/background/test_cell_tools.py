"""The tools that continue and end cells check what the model passes."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage


def call(**args: Any) -> AIMessage:
    made = {"name": "wait", "args": args, "id": "1", "type": "tool_call"}
    return AIMessage("", tool_calls=[made])


@pytest.mark.parametrize("use_async", [True, False])
@pytest.mark.parametrize(
    "args",
    [{}, {"id": "a", "seconds": -1}, {"id": "a", "seconds": 10**6}, {"id": "a", "ms": 5}],
)
async def test_wrong_input_is_reported_to_the_model(
    talk: Any, args: dict[str, Any], use_async: bool
) -> None:
    (answer,) = await talk(background=True).run(call(**args))
    assert "Error invoking tool 'wait'" in answer


async def test_the_tools_run_inside_an_agent_only(talk: Any) -> None:
    _, wait, terminate = talk(background=True).middleware.tools
    for tool, args in ((wait, {"id": "a"}), (terminate, {"id": "a"})):
        with pytest.raises(RuntimeError, match="runs inside an agent"):
            await tool.ainvoke(args)
        with pytest.raises(RuntimeError, match="runs inside an agent"):
            tool.invoke(args)
