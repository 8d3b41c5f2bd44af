"""Calls of tools from code, with a real server."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_config import TOOLS_SERVER


async def test_structured_content_is_the_value(run: Any) -> None:
    assert await run("await mcp.tools.add({first: 1, second: 2})") == "<result>{result: 3}</result>"
    assert await run("(await mcp.tools.readRecord('k')).tags.join()") == "<result>a,b</result>"


async def test_content_blocks_are_complete(run: Any) -> None:
    assert TOOLS_SERVER.is_file()
    found = await run("JSON.stringify(await mcp.tools.blocks())")
    for part in (
        '{"type":"text","text":"hello","annotations":{"priority":0.5}}',
        '"type":"image"',
        '"mimeType":"image/png"',
        '{"type":"audio","data":"UklGRiQAAABXQVZF","mimeType":"audio/wav"}',
        '{"uri":"file:///a.txt","mimeType":"text/plain","text":"A"}',
        '{"uri":"file:///b.bin","blob":"AAE="}',
        '"uri":"file:///c.txt","description":"A link.","type":"resource_link"',
    ):
        assert part in found


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("mcp.tools.fail({why: 'so'})", "ToolError mcp.tools.fail Error executing tool fail"),
        ("mcp.tools.add({first: 'a'})", "ToolError mcp.tools.add Error executing tool add: 2"),
        ("mcp.tools.add(1)", "TypeError mcp.tools.add mcp.tools.add takes one object"),
        (
            "mcp.tools.add({first: NaN, second: 1})",
            "TypeError mcp.tools.add an MCP tool takes JSON",
        ),
        ("mcp.describe('tools.addd')", "ToolError mcp.describe there is no MCP tool 'tools.addd'"),
        ("mcp.describe(1)", "ToolError mcp.describe there is no MCP tool of that name"),
    ],
)
async def test_errors_are_caught_in_code(run: Any, call: str, message: str) -> None:
    code = f"try {{ await {call} }} catch (e) {{ [e.name, e.tool, e.message].join(' ') }}"
    assert message in await run(code)


async def test_tools_are_found_in_code(run: Any) -> None:
    assert await run("(await mcp.search('two numbers'))[0].name") == "<result>tools.add</result>"
    assert "readRecord(input: { key: string })" in await run(
        "await mcp.describe('tools.readRecord')"
    )
    found = await run("await mcp.describe('mcp.tools')")
    assert "Tools for tests.\n\ntools.add: Add two numbers." in found
    assert await run("Object.keys(mcp).join()") == "<result>tools</result>"


async def test_a_hundred_calls_run_side_by_side(run: Any) -> None:
    code = "Array.from({length: 100}, (_, n) => mcp.tools.add({first: n, second: 1}))"
    found = await run(f"(await Promise.all({code})).reduce((sum, one) => sum + one.result, 0)")
    assert found == "<result>5050</result>"
