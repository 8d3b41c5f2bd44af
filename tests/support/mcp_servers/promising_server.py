"""A server of its own process whose answers break their output schemas, or the protocol."""

from __future__ import annotations

from typing import Any

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server

SCHEMA = {"type": "object", "properties": {"amount": {"type": "integer"}}}
ANSWERS = {"right": {"amount": 1}, "wrong": {"amount": "much"}, "none": None}


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(name=name, input_schema={"type": "object"}, output_schema=SCHEMA)
            for name in (*ANSWERS, "broken")
        ]
    )


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name == "broken":
        return types.CallToolResult(content=[], _meta={"broken": True})
    return types.CallToolResult(content=[], structured_content=ANSWERS[params.name])


class BreakingWriter:
    """The stream to the client; the SDK itself sends no malformed answers."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> BreakingWriter:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stream.aclose()

    async def send(self, item: Any) -> None:
        result = getattr(item.message, "result", {})
        if "broken" in (result.get("_meta") or {}):
            result["_meta"] = [1]
        await self._stream.send(item)


async def main() -> None:
    server: Server[Any] = Server("promising", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, BreakingWriter(write), server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
