"""Approvals of calls that clients make themselves."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import types
from mcp_config import Notes
from mcp_gateways import gateway, passing

both = pytest.mark.parametrize("mode", ["legacy", "auto"])


def answering(asked: list[str], **answer: Any) -> dict[str, Any]:
    async def elicit(ctx: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(**answer)

    return {"elicitation_callback": elicit}


def text(result: Any) -> str:
    return str(result.content[0].text)


@both
@pytest.mark.parametrize("pattern", ["mcp.a.write", "glob:mcp.*.wri*", "glob:mcp.*"])
async def test_approved_calls_are_made_once(notes: Notes, mode: str, pattern: str) -> None:
    asked: list[str] = []
    allow = answering(asked, action="accept", content={"allow": True})
    async with gateway(passing(notes, "a"), pattern) as made, made.client(mode, **allow) as client:
        assert text(await client.call_tool("write", {"text": "one"})) == "noted one"
        expected = 'This client wants to call mcp.a.write with {"text": "one"}. Allow this call?'
        assert asked == [expected]
        assert notes.text().splitlines().count("one") == 1


@both
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"action": "decline"}, "a person refused the call"),
        ({"action": "accept", "content": {"allow": False}}, "a person refused the call"),
        (None, "it needs an approval, and this client cannot ask for one"),
    ],
)
async def test_other_calls_are_not_made(notes: Notes, mode: str, answer: Any, reason: str) -> None:
    callbacks = {} if answer is None else answering([], **answer)
    async with (
        gateway(passing(notes, "a"), "mcp.a.write") as made,
        made.client(mode, **callbacks) as client,
    ):
        refused = await client.call_tool("write", {"text": "one"})
        assert refused.is_error
        assert text(refused) == f"mcp.a.write was not called: {reason}"
        assert "one" not in notes.text().splitlines()
        assert text(await client.call_tool("change", {})) == "changed"


async def test_arguments_that_nobody_can_read_are_refused(notes: Notes) -> None:
    asked: list[str] = []
    allow = answering(asked, action="accept", content={"allow": True})
    async with (
        gateway(passing(notes, "a"), "glob:mcp.a.*") as made,
        made.client(**allow) as client,
    ):
        refused = await client.call_tool("write", {"text": "x" * 5000})
        assert "a person is shown at most 4000" in text(refused)
        assert asked == []
        assert "xxx" not in notes.text()


async def test_a_client_that_fails_to_ask_gets_the_refusal(notes: Notes) -> None:
    async def fail(ctx: Any, params: Any) -> types.ErrorData:
        return types.ErrorData(code=-1, message="no window")

    async with (
        gateway(passing(notes, "a"), "mcp.a.write") as made,
        made.client(elicitation_callback=fail) as client,
    ):
        refused = await client.call_tool("write", {"text": "one"})
        assert text(refused).endswith("the client could not ask for an approval: no window")


async def test_a_misspelt_pattern_lets_nothing_pass(notes: Notes) -> None:
    async with gateway(passing(notes, "a"), "mcp.a.wrote") as made, made.client() as client:
        refused = await client.call_tool("write", {"text": "one"})
        assert refused.is_error
        assert "MCP server 'a' has no such tool; it has: mcp.a.ask" in text(refused)
        assert "one" not in notes.text().splitlines()


@both
async def test_a_renamed_tool_needs_the_approval_of_its_own_name(notes: Notes, mode: str) -> None:
    asked: list[str] = []
    refuse = answering(asked, action="decline")
    async with (
        gateway(passing(notes, "a", "b"), "mcp.b.write") as made,
        made.client(mode, **refuse) as client,
    ):
        assert text(await client.call_tool("write", {"text": "of a"})) == "noted of a"
        refused = await client.call_tool("b.write", {"text": "of b"})
        assert text(refused) == "mcp.b.write was not called: a person refused the call"
        assert len(asked) == 1
