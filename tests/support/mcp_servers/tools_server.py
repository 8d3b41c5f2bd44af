"""A server of its own process, with a tool for everything that a client must handle.

Run as `python tools_server.py [stdio | http PORT]`. The tool `note` counts its calls in the file
that the environment variable `MCP_NOTES` names, so that a test sees what had an effect.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from mcp import types
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("tools", instructions="Tools for tests.")
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJg"
    "gg=="
)


@server.tool()
def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


@server.tool()
def metadata(context: Context) -> dict[str, Any]:
    """Return the metadata of the call."""
    return dict(context.request_context.meta or {})


@server.tool(name="read-record")
def read_record(key: str) -> dict[str, Any]:
    """Read a record."""
    return {"key": key, "tags": ["a", "b"]}


@server.tool(structured_output=False)
def blocks() -> types.CallToolResult:
    """Return a content block of each kind."""
    text = types.TextResourceContents(uri="file:///a.txt", mime_type="text/plain", text="A")
    blob = types.BlobResourceContents(uri="file:///b.bin", blob="AAE=")
    return types.CallToolResult(
        content=[
            types.TextContent(text="hello", annotations=types.Annotations(priority=0.5)),
            types.ImageContent(data=PIXEL, mime_type="image/png"),
            types.AudioContent(data="UklGRiQAAABXQVZF", mime_type="audio/wav"),
            types.EmbeddedResource(resource=text),
            types.EmbeddedResource(resource=blob),
            types.ResourceLink(uri="file:///c.txt", name="c", description="A link."),
        ]
    )


@server.resource("notes://text", mime_type="text/plain")
def note_text() -> str:
    """A text that the tool `link` links to."""
    return f"text of {os.getpid()}"


@server.resource("notes://bytes", mime_type="image/png")
def note_bytes() -> bytes:
    """Bytes that the tool `link` links to."""
    return b"\0\1"


@server.tool(structured_output=False)
def link(uri: str) -> types.CallToolResult:
    """Return a link to a resource."""
    return types.CallToolResult(content=[types.ResourceLink(uri=uri, name="a note")])


@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


def write_note(line: str) -> None:
    with Path(os.environ["MCP_NOTES"]).open("a") as file:
        file.write(f"{line}\n")


@server.tool(structured_output=False)
async def note(text: str, seconds: float = 0) -> str:
    """Note a text in a file, and answer later."""
    write_note(text)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        write_note(f"cancelled {text}")
        raise
    return f"noted {text}"


@server.tool(structured_output=False)
async def count(steps: int, ctx: Context, seconds: float = 0.06) -> str:
    """Count, and report the progress."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
        await asyncio.sleep(seconds)
    return "counted"


@server.tool(structured_output=False)
def large(size: int) -> str:
    """Return a text of a size."""
    return "x" * size


@server.tool(structured_output=False)
async def learn(name: str, ctx: Context) -> str:
    """Add a tool."""

    def learned() -> str:
        """A tool that was added later."""
        return f"this is {name}"

    server.add_tool(learned, name=name, structured_output=False)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "learned"


@server.tool(structured_output=False)
def pid() -> str:
    """The id of the server's process."""
    return str(os.getpid())


@server.tool(structured_output=False)
def environment() -> str:
    """Names of the environment variables of the server."""
    return " ".join(sorted(os.environ))


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run("stdio")
