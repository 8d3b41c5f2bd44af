"""Servers of this process that offer other servers to their clients."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_config import Notes

from interpstack import HostOffer, InterpreterStack
from interpstack_mcp.api import (
    GATE,
    CodeServer,
    HttpOptions,
    McpLimits,
    McpServers,
    ServerLimits,
    serve_http,
)

__all__ = ["Gate", "gateway", "passing", "scripted"]

_SERVER = Path(__file__).parent / "mcp_servers" / "passing_server.py"
_TOKEN = "a-token-for-tests-only"


def passing(notes: Notes, *names: str, **fields: Any) -> dict[str, Any]:
    """A configuration with servers that ask, log, change and fail."""
    return {
        "mcpServers": {
            name: {
                "command": sys.executable,
                "args": [str(_SERVER), name],
                "env": {"MCP_NOTES": str(notes.path)},
                **fields,
            }
            for name in names
        }
    }


def scripted(code: str) -> dict[str, Any]:
    """A configuration with a server `s` that is a script."""
    return {"mcpServers": {"s": {"command": sys.executable, "args": ["-c", code]}}}


@attrs.frozen
class Gate:
    """A server that offers others.

    Attributes:
        server: The server.
    """

    server: CodeServer

    def client(self, mode: str = "legacy", **callbacks: Any) -> Client:
        """A client in this process."""
        return Client(self.server.app(), mode=mode, **callbacks)

    @asynccontextmanager
    async def http(self) -> AsyncIterator[Any]:
        """Makes clients over HTTP, as contexts."""
        listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        options = HttpOptions(token=_TOKEN)
        task = asyncio.ensure_future(serve_http(self.server, options, listening.set_result))
        address = await listening

        @asynccontextmanager
        async def client(mode: str = "legacy", **callbacks: Any) -> AsyncIterator[Client]:
            headers = {"Authorization": f"Bearer {_TOKEN}"}
            async with httpx2.AsyncClient(headers=headers, timeout=60) as sending:
                transport = streamable_http_client(address, http_client=sending)
                async with Client(transport, mode=mode, **callbacks) as made:
                    yield made

        try:
            yield client
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def gateway(
    given: dict[str, Any], *approve: str, server: Any = None, **limits: Any
) -> AsyncIterator[Gate]:
    """A server that offers all configured ones to its clients."""
    servers = McpServers.of(given, limits=McpLimits(**limits))
    async with InterpreterStack(plugins=["console", "mcp", GATE]) as stack:
        made = CodeServer(
            stack,
            HostOffer(parts=[servers]),
            approve,
            server or ServerLimits(),
            through=[one.name for one in servers.servers],
        )
        try:
            yield Gate(made)
        finally:
            await made.aclose()
