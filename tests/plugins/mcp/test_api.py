"""The plugin object that hosts make."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError, InterpreterStack
from interpstack_mcp.api import McpLimits, McpServers, mcp


def test_servers_may_be_shared_by_stacks(connections: McpServers) -> None:
    assert mcp(connections).servers is connections
    with InterpreterStack(plugins=[mcp(connections)]) as stack:
        assert {info.name for info in stack.describe()} == {"mcp", "quickjs"}
        assert "Servers: `tools`." in stack.prompt()


@pytest.mark.parametrize(
    "options", [{"limits": McpLimits(tools=1)}, {"on_progress": print}, {"auth": {}}]
)
def test_options_of_shared_servers_are_not_ignored(
    connections: McpServers, options: dict[str, Any]
) -> None:
    (name,) = options
    with pytest.raises(ConfigurationError, match=f"{name} belongs to the servers .* {name}=…"):
        mcp(connections, **options)


async def _waits(report: object) -> None:
    """An async function, whose coroutine nobody would await."""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": {"tools": 1}}, "limits takes an McpLimits object; got {'tools': 1}"),
        ({"on_progress": "print"}, "on_progress takes a function that is not async; got 'print'"),
        ({"on_progress": _waits}, "on_progress takes a function that is not async"),
    ],
)
def test_options_of_a_wrong_type_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        mcp({"mcpServers": {"a": {"command": "a"}}}, **options)


def test_a_stack_takes_the_plugin_once(connections: McpServers) -> None:
    with pytest.raises(ConfigurationError, match="'mcp' is listed twice"):
        InterpreterStack(plugins=["mcp", mcp(connections)])


def test_names_that_code_cannot_use_are_refused_when_a_session_is_bound() -> None:
    given = {"mcpServers": {"search": {"command": "a"}}}
    stack = InterpreterStack(plugins=[mcp(given, limits=McpLimits(connect_seconds=1))])
    with stack, pytest.raises(ConfigurationError, match="'search' cannot be offered"):
        stack.prompt()
