"""Configurations of MCP servers that run as processes of their own."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs

__all__ = ["TOOLS_SERVER", "Notes", "free_port", "http_server", "servers", "wait_for_port"]

TOOLS_SERVER = Path(__file__).parent / "mcp_servers" / "tools_server.py"


@attrs.frozen
class Notes:
    """The file in which the tool `note` of the server `tools` notes its calls."""

    path: Path

    @classmethod
    def empty(cls, folder: Path) -> Notes:
        path = folder / "notes.txt"
        path.touch()
        return cls(path)

    def text(self) -> str:
        return self.path.read_text()

    async def wait_for(self, text: str) -> None:
        """Wait until a text is noted."""
        while text not in self.text():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)


def servers(notes: Notes, **more: Any) -> dict[str, Any]:
    """A configuration with the server `tools` over stdio, and more servers by name."""
    own = {
        "command": sys.executable,
        "args": [str(TOOLS_SERVER)],
        "env": {"MCP_NOTES": str(notes.path)},
    }
    return {"mcpServers": {"tools": own, **more}}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[Any]) -> None:
    """Wait until a process listens."""
    while process.poll() is None:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.05)
    raise RuntimeError("the server has ended")


@contextmanager
def http_server(port: int, notes: Notes) -> Iterator[subprocess.Popen[Any]]:
    """The server `tools` over HTTP, which is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, str(TOOLS_SERVER), "http", str(port)],
        env={**os.environ, "MCP_NOTES": str(notes.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_port(port, process)
        yield process
    finally:
        process.kill()
        process.wait()
