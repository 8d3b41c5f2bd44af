"""Stacks whose code calls the tools of real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import pytest_asyncio
from mcp_config import Notes, free_port, http_server, servers

from interpstack import InterpreterStack, Limits
from interpstack_mcp.api import McpServers, mcp


@attrs.frozen
class SharedServer:
    """A server that many tests use.

    Attributes:
        given: A configuration.
        notes: The file in which its tool `note` notes its calls.
    """

    given: dict[str, Any]
    notes: Notes


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """The file in which the tool `note` notes its calls."""
    return Notes.empty(tmp_path)


@pytest.fixture
def connections(notes: Notes) -> McpServers:
    """The server `tools` over stdio, in a process of its own for each connection."""
    return McpServers.of(servers(notes))


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """The server `tools` over HTTP, for all tests of this process."""
    port, notes = free_port(), Notes.empty(tmp_path_factory.mktemp("mcp"))
    with http_server(port, notes):
        yield SharedServer(
            {"mcpServers": {"tools": {"url": f"http://127.0.0.1:{port}/mcp"}}}, notes
        )


@pytest_asyncio.fixture
async def run(shared_server: SharedServer) -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Runs cells in one session; each outcome as a model reads it."""
    limits = Limits(result_chars=20_000, wall_seconds=60)
    plugins = ["console", mcp(shared_server.given)]
    stack = InterpreterStack(plugins=plugins, limits=limits)
    async with stack, stack.session() as session:

        async def run_cell(code: str, **options: Any) -> str:
            text = session.render(await session.eval(code, **options))
            return text.replace("&gt;", ">").replace("&lt;", "<")

        yield run_cell
