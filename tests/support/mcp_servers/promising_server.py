"""A server of its own process whose answers break their output schemas."""

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
            for name in ANSWERS
        ]
    )


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[], structured_content=ANSWERS[params.name])


async def main() -> None:
    server: Server[Any] = Server("promising", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
