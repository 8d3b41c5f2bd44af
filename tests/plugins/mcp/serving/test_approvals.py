"""Patterns of names."""

from __future__ import annotations

import pytest

from interpstack import ConfigurationError, HostOffer, InterpreterStack
from interpstack_mcp.api import McpServers, mcp
from interpstack_mcp.serving.approvals import ApprovalPatterns


def test_patterns_match_any_name_of_a_call() -> None:
    patterns = ApprovalPatterns(("mcp.files.write_*", "tools.pay"))
    assert patterns.match({"mcp.files.writeFile", "mcp.files.write_file"})
    assert not patterns.match({"mcp.files.readFile", "mcp.files.read_file"})
    assert ApprovalPatterns(("mcp.a.b", "mcp.*", "tools.pay")).required == {"mcp.a.b"}


def test_a_server_that_is_not_configured_is_refused() -> None:
    servers = McpServers.of({"mcpServers": {"files": {"command": "a"}}})
    offer = HostOffer(parts=[servers])
    with InterpreterStack(plugins=[mcp(servers)]) as stack:
        ApprovalPatterns(("mcp.files.write", "mcp.*")).check(stack, offer)
        with pytest.raises(ConfigurationError, match=r"approve names 'mcp\.file\.write'"):
            ApprovalPatterns(("mcp.file.write",)).check(stack, offer)
