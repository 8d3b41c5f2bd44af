"""The list of tools."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError, HostOffer, InterpreterStack
from interpstack_mcp.serving.tools import TOOL_NAMES, check_arguments, tools_for


def test_tools_name_the_language_and_what_code_can_call() -> None:
    with InterpreterStack(plugins=["console"]) as stack:
        tools = tools_for(stack, HostOffer(), names_session=False)
    assert tuple(tool.name for tool in tools) == TOOL_NAMES
    assert "JavaScript" in (tools[0].description or "")
    assert "console.log" in (tools[0].description or "")
    assert tools[0].input_schema["required"] == ["code"]
    assert tools[1].input_schema["required"] == ["cell"]


def test_only_clients_without_sessions_are_asked_for_the_name_of_one() -> None:
    with InterpreterStack(plugins=["console"]) as stack:
        for names_session in (True, False):
            for tool in tools_for(stack, HostOffer(), names_session=names_session):
                assert ("session" in tool.input_schema["properties"]) == names_session


@pytest.mark.parametrize(
    ("tool", "given", "message"),
    [
        ("run_code", {"cod": "1"}, "run_code has no argument 'cod'; it takes code"),
        ("run_code", {"session": "x"}, "run_code has no argument 'session'; it takes code"),
        ("reset", {"all": True}, "reset has no argument 'all'; it takes no arguments"),
        ("wait", {"terminate": "yes"}, 'wait takes true or false as terminate; got "yes"'),
        ("wait", {"terminate": 1}, "wait takes true or false as terminate; got 1"),
        ("search_tools", {"query": ["a"]}, r"search_tools takes a string as query; got \[\"a\"\]"),
    ],
)
def test_arguments_that_a_tool_does_not_take_are_refused(
    tool: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_arguments(tool, given, names_session=False)


def test_arguments_that_are_null_are_left_out() -> None:
    check_arguments("wait", {"cell": "a", "terminate": None}, names_session=False)
    check_arguments("run_code", {"code": "1", "session": "a"}, names_session=True)
