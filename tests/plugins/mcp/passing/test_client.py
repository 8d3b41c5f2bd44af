"""Everything that one client reaches through a server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import types
from mcp.shared.exceptions import MCPError
from mcp_config import Notes
from mcp_gateways import passing

from interpstack_mcp.configuration import read_servers
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.passing.client import PassingClient


class _Session:
    """A client between two of whose requests nothing can be sent."""

    protocol_version = "2026-07-28"
    client_capabilities = None


class _Ctx:
    protocol_version = "2026-07-28"
    session = _Session()
    request_id = 1


def reached(notes: Notes, *names: str) -> PassingClient:
    servers = read_servers(passing(notes, *names))
    able = types.ClientCapabilities()
    return PassingClient(servers, McpLimits(), _Session(), able, True, frozenset({"own"}), 60.0)


class _Again:
    def __init__(self, state: str) -> None:
        self.request_state = state
        self.input_responses: dict[str, Any] = {}


async def test_a_server_is_connected_when_it_is_needed(notes: Notes) -> None:
    client = reached(notes, "a", "b")
    try:
        assert notes.text() == ""
        assert client.upstream("a") is client.upstream("a")
        assert "write" in await client.tools_of("a")
        assert "b lists" not in notes.text()
    finally:
        await client.aclose()


async def test_a_name_keeps_its_meaning_when_its_server_is_gone(notes: Notes) -> None:
    given = passing(notes, "a", "b")
    given["mcpServers"]["a"]["command"] = "no-such-program-here"
    able = types.ClientCapabilities()
    servers = read_servers(given)
    client = PassingClient(servers, McpLimits(), _Session(), able, True, frozenset(), 60.0)
    try:
        assert await client.find("tools", "write") == ("b", "write")
        assert await client.find("tools", "nope") is None
    finally:
        await client.aclose()


async def test_questions_that_nobody_answers_are_bounded(notes: Notes) -> None:
    client = reached(notes, "a")
    form = types.ElicitRequestFormParams(message="?", requested_schema={"type": "object"})

    async def ask(call: Any) -> Any:
        return await call.ask(types.ElicitRequest(params=form))

    try:
        first = await client.run(_Ctx(), ask)
        assert client.busy
        for _ in range(31):
            await client.run(_Ctx(), ask)
        with pytest.raises(MCPError, match="32 requests of this client wait for its answers"):
            await client.run(_Ctx(), ask)
        (key,) = first.input_requests
        again = _Again(first.request_state)
        again.input_responses = {key: types.ElicitResult(action="decline")}
        assert (await client.run(_Ctx(), ask, again)).action == "decline"
        with pytest.raises(MCPError, match="there is no such request"):
            await client.run(_Ctx(), ask, again)
        assert isinstance(await client.run(_Ctx(), ask), types.InputRequiredResult)
    finally:
        await client.aclose()
    assert not client.busy


async def test_whoever_closes_waits_for_the_end(notes: Notes) -> None:
    client = reached(notes, "a")
    await client.tools_of("a")
    await asyncio.gather(client.aclose(), client.aclose())
    await client.aclose()


def test_logs_are_wanted_from_a_level_on(notes: Notes) -> None:
    client = reached(notes, "a")
    assert client.wants_logs("debug")
    asyncio.run(client.set_level("error"))
    assert not client.wants_logs("info")
