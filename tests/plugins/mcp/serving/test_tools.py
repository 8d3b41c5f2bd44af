"""The list of tools."""

from __future__ import annotations

from interpstack import HostOffer, InterpreterStack
from interpstack_mcp.serving.tools import TOOL_NAMES, tools_for


def test_tools_name_the_language_and_what_code_can_call() -> None:
    with InterpreterStack(plugins=["console"]) as stack:
        tools = tools_for(stack, HostOffer())
    assert tuple(tool.name for tool in tools) == TOOL_NAMES
    assert "JavaScript" in (tools[0].description or "")
    assert "console.log" in (tools[0].description or "")
    assert tools[0].input_schema["required"] == ["code"]
    assert tools[1].input_schema["required"] == ["cell"]
