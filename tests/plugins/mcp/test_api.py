"""The plugin object that hosts make."""

from __future__ import annotations

import pytest

from interpstack import ConfigurationError, InterpreterStack
from interpstack_mcp.api import McpLimits, McpServers, mcp


def test_servers_may_be_shared_by_stacks(connections: McpServers) -> None:
    assert mcp(connections).servers is connections
    with InterpreterStack(plugins=[mcp(connections)]) as stack:
        assert {info.name for info in stack.describe()} == {"mcp", "quickjs"}
        assert "Servers: `tools`." in stack.prompt()


def test_a_stack_takes_the_plugin_once(connections: McpServers) -> None:
    with pytest.raises(ConfigurationError, match="'mcp' is listed twice"):
        InterpreterStack(plugins=["mcp", mcp(connections)])


def test_names_that_code_cannot_use_are_refused_when_a_session_is_bound() -> None:
    given = {"mcpServers": {"search": {"command": "a"}}}
    stack = InterpreterStack(plugins=[mcp(given, limits=McpLimits(connect_seconds=1))])
    with stack, pytest.raises(ConfigurationError, match="'search' cannot be offered"):
        stack.prompt()
