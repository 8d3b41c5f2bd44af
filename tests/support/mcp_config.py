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

__all__ = [
    "SUITE_SERVER",
    "TOOLS_SERVER",
    "Notes",
    "free_port",
    "guarded_server",
    "http_server",
    "servers",
    "wait_for_port",
]

_FOLDER = Path(__file__).parent / "mcp_servers"
TOOLS_SERVER = _FOLDER / "tools_server.py"
SUITE_SERVER = _FOLDER / "suite_server.py"


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
    with _listening([str(TOOLS_SERVER), "http", str(port)], port, notes) as process:
        yield process


@contextmanager
def guarded_server(port: int, notes: Notes, grant: str) -> Iterator[subprocess.Popen[Any]]:
    """A server over HTTP whose clients need OAuth, which is killed at the end."""
    arguments = [str(_FOLDER / "guarded_server.py"), str(port), grant]
    with _listening(arguments, port, notes) as process:
        yield process


@contextmanager
def _listening(arguments: list[str], port: int, notes: Notes) -> Iterator[subprocess.Popen[Any]]:
    process = subprocess.Popen(
        [sys.executable, *arguments],
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
