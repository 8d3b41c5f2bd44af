"""Patterns of names."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from mcp import types

from interpstack import ConfigurationError, HostOffer, InterpreterStack
from interpstack_mcp.api import McpServers, mcp
from interpstack_mcp.serving import approvals
from interpstack_mcp.serving.approvals import ApprovalPatterns
from interpstack_mcp.serving.runs import ApprovalQuestion


def test_patterns_match_any_name_of_a_call() -> None:
    patterns = ApprovalPatterns(("glob:mcp.files.write_*", "tools.pay"))
    assert patterns.match({"mcp.files.writeFile", "mcp.files.write_file"})
    assert not patterns.match({"mcp.files.readFile", "mcp.files.read_file"})
    required = ApprovalPatterns(("mcp.a.b", "glob:mcp.*", "tools.pay")).required
    assert required == {"mcp.a.b", "glob:mcp.*"}


@pytest.mark.parametrize("name", ["mcp.files.delete[all]", "mcp.files.delete?", "mcp.a.!x"])
def test_a_name_is_a_name_whatever_its_characters(name: str) -> None:
    assert ApprovalPatterns((name,)).match({name})
    assert not ApprovalPatterns((name,)).match({"mcp.files.deletea", "mcp.files.delete"})
    assert ApprovalPatterns((f"glob:{name}",)).match({name})
    assert not ApprovalPatterns((f"glob:{name}",)).match({"mcp.files.deletea"})


def test_a_server_that_is_not_configured_is_refused() -> None:
    servers = McpServers.of({"mcpServers": {"files": {"command": "a"}}})
    offer = HostOffer(parts=[servers])
    with InterpreterStack(plugins=[mcp(servers)]) as stack:
        ApprovalPatterns(("mcp.files.write", "glob:mcp.*", "glob:*")).check(stack, offer)
        ApprovalPatterns(("mcp.files.delete[all]", "glob:mcp.files.w*")).check(stack, offer)
        with pytest.raises(ConfigurationError, match=r"mark a pattern, as in 'glob:mcp\.files"):
            ApprovalPatterns(("mcp.files.*",)).check(stack, offer)
        for nothing in ("glob:tools.*", "glob:mcp.file.*x", "tools.pay"):
            with pytest.raises(ConfigurationError, match="which code cannot call"):
                ApprovalPatterns((nothing,)).check(stack, offer)
        with pytest.raises(ConfigurationError, match=r"approve names 'mcp\.file\.write'"):
            ApprovalPatterns(("mcp.file.write",)).check(stack, offer)


async def test_a_question_that_nobody_answers_between_two_requests_is_refused_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(approvals, "_SECONDS", 0.05)
    question = ApprovalQuestion("May it?")
    able = types.ClientCapabilities(elicitation=types.ElicitationCapability())
    session = SimpleNamespace(client_capabilities=able)
    ctx = SimpleNamespace(session=session, protocol_version="2026-07-28")
    assert await approvals.asked(ctx, [question], lambda: "state") is not None
    assert await question.answer == "nobody answered in 0.05 seconds"
    answered = ApprovalQuestion("May it?")
    assert await approvals.asked(ctx, [answered], lambda: "state") is not None
    answered.settle(True)
    assert await answered.answer is True


async def test_a_client_that_only_opens_addresses_cannot_be_asked_for_an_approval() -> None:
    addresses = types.ElicitationCapability(url=types.UrlElicitationCapability())
    able = types.ClientCapabilities(elicitation=addresses)
    question = ApprovalQuestion("May it?")
    ctx = SimpleNamespace(session=SimpleNamespace(client_capabilities=able))
    assert await approvals.asked(ctx, [question], str) is None
    assert await question.answer == "it needs an approval, and this client cannot ask for one"
