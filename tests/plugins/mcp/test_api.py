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


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["search"], "'search' cannot be offered to code: 'search' is a function of mcp itself"),
        (["ä"], "'ä' cannot be offered to code: 'ä' is not a name in code; rename it"),
        (["a-b", "a_b"], "'a-b' and 'a_b' would both be mcp.aB in JavaScript; rename one"),
        (["a-b", "a.b"], "'a-b' and 'a.b' would both be mcp"),
        (["a b", "aB"], "'a b' and 'aB' would both be mcp.aB in JavaScript"),
        (["a-b", "a b"], "would both be mcp"),
    ],
)
def test_names_of_servers_that_code_cannot_use_are_refused_before_there_is_a_session(
    names: list[str], message: str
) -> None:
    given = {"mcpServers": {name: {"command": "a"} for name in names}}
    with pytest.raises(ConfigurationError, match=message):
        mcp(given)
    with pytest.raises(ConfigurationError, match=message):
        McpServers.of(given)
