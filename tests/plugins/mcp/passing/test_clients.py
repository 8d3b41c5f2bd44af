"""Servers by name, and a connection for each client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import types
from mcp.shared.exceptions import MCPError
from mcp_config import Notes
from mcp_gateways import gateway, passing

from interpstack import ConfigurationError, HostOffer, InterpreterStack
from interpstack_mcp.api import GATE, CodeServer, McpServers, ServerLimits


def text(result: Any) -> str:
    return str(result.content[0].text)


def test_servers_that_are_not_configured_are_refused(notes: Notes) -> None:
    servers = McpServers.of(passing(notes, "a", "b"))
    with InterpreterStack(plugins=["mcp", GATE]) as stack:
        with pytest.raises(
            ConfigurationError, match=r"through names 'c'.*configured servers: a, b"
        ):
            CodeServer(stack, HostOffer(parts=[servers]), through=["c"])
        with pytest.raises(ConfigurationError, match=r"no server is configured \(--mcp FILE\)"):
            CodeServer(stack, HostOffer(), through=["c"])


async def ended(*pids: int) -> None:
    """Wait until processes have ended."""
    async with asyncio.timeout(60):
        while any(Path(f"/proc/{pid}").exists() for pid in pids):  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.05)


async def test_each_client_has_a_connection_that_ends_with_its_session(notes: Notes) -> None:
    async with gateway(passing(notes, "a")) as made, made.http() as http:
        async with http() as one, http() as two:
            first, second = [int(text(await each.call_tool("pid", {}))) for each in (one, two)]
            assert first != second
            assert int(text(await one.call_tool("pid", {}))) == first
        await ended(first, second)


async def test_clients_without_sessions_share_a_connection(notes: Notes) -> None:
    async with (
        gateway(passing(notes, "a")) as made,
        made.http() as http,
        http("auto") as one,
        http("auto") as two,
    ):
        pids = [text(await each.call_tool("pid", {})) for each in (one, two, one)]
        assert len(set(pids)) == 1


async def test_shared_connections_end_when_nobody_uses_them(notes: Notes) -> None:
    limits = ServerLimits(idle_seconds=0.2)
    async with (
        gateway(passing(notes, "a"), server=limits) as made,
        made.http() as http,
        http("auto") as client,
    ):
        first = int(text(await client.call_tool("pid", {})))
        await ended(first)
        assert int(text(await client.call_tool("pid", {}))) != first


async def test_too_many_clients_are_refused(notes: Notes) -> None:
    limits = ServerLimits(clients=1)

    async def roots(ctx: Any) -> types.ListRootsResult:
        raise AssertionError("nobody asks")

    async with (
        gateway(passing(notes, "a"), server=limits) as made,
        made.http() as http,
        http("auto") as one,
        http("auto", list_roots_callback=roots) as other,
    ):
        call = one.call_tool("write", {"text": "slow", "seconds": 60})
        running = asyncio.ensure_future(call)
        await asyncio.wait_for(notes.wait_for("slow"), 60)
        with pytest.raises(MCPError, match="1 clients are busy"):
            await other.call_tool("change", {})
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
