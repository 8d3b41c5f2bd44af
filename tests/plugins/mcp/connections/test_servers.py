"""Servers on event loops, and the progress of their calls."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from mcp_config import TOOLS_SERVER, Notes, servers

from interpstack import InterpreterStack
from interpstack_javascript.language import JAVASCRIPT
from interpstack_mcp.api import McpLimits, McpProgress, McpServers, mcp


async def pid(session: Any) -> str:
    return str((await session.eval("(await mcp.tools.pid())[0].text")).text)


async def test_connections_end_with_the_last_session(connections: McpServers) -> None:
    async with InterpreterStack(plugins=[mcp(connections)]) as stack:
        async with stack.session() as first, stack.session() as second:
            assert await pid(first) == await pid(second)
            kept = await pid(first)
        async with stack.session() as third:
            assert await pid(third) != kept
    assert not connections._loops


async def test_a_block_keeps_connections_open(connections: McpServers) -> None:
    async with connections, InterpreterStack(plugins=[mcp(connections)]) as stack:
        async with stack.session() as first:
            kept = await pid(first)
        async with stack.session() as second:
            assert await pid(second) == kept
    assert not connections._loops


def test_each_event_loop_has_connections_of_its_own(connections: McpServers) -> None:
    with InterpreterStack(plugins=[mcp(connections)]) as stack, stack.session("a") as session:
        first = session.eval_sync("(await mcp.tools.pid())[0].text").text
        assert session.eval_sync("(await mcp.tools.pid())[0].text").text == first
        other = asyncio.run(pid(session))
        assert other != first
        assert session.eval_sync("(await mcp.tools.pid())[0].text").text == first


async def test_the_catalog_is_the_same_while_nothing_changes(connections: McpServers) -> None:
    async with connections:
        first = await connections.catalog(JAVASCRIPT)
        assert await connections.catalog(JAVASCRIPT) is first
        assert connections.last(JAVASCRIPT) is first


async def test_progress_is_passed_on_up_to_a_limit(notes: Notes) -> None:
    heard: list[McpProgress] = []
    plugin = mcp(servers(notes), on_progress=heard.append, limits=McpLimits(progress=2))
    async with InterpreterStack(plugins=[plugin]) as stack, stack.session() as session:
        assert (await session.eval("await mcp.tools.count({steps: 5})")).ok
    first, later = heard  # a busy machine may deliver two reports at once
    assert (first.tool, first.total, first.message) == ("mcp.tools.count", 5, "step 1")
    assert later.message == f"step {later.progress:g}"
    assert later.progress > first.progress
    assert heard[0].call_key == heard[1].call_key


async def test_of_progress_that_comes_too_fast_the_last_report_is_passed_on(notes: Notes) -> None:
    heard: list[float] = []

    def hear(report: McpProgress) -> None:
        heard.append(report.progress)

    plugin = mcp(servers(notes), on_progress=hear, limits=McpLimits(progress=50))
    async with InterpreterStack(plugins=[plugin]) as stack, stack.session() as session:
        assert (await session.eval("await mcp.tools.count({steps: 40, seconds: 0})")).ok
    assert heard == sorted(set(heard))
    assert (heard[0], heard[-1]) == (1, 40)
    assert len(heard) < 40


async def test_a_cancelled_cell_cancels_its_calls(run: Any, shared_server: Any) -> None:
    await run("1")
    notes = shared_server.notes
    running = asyncio.ensure_future(run("await mcp.tools.note({text: 'long', seconds: 60})"))
    await notes.wait_for("long")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await notes.wait_for("cancelled long")


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        ("right", "1"),
        (
            "wrong",
            "McpAnswerInvalid: mcp.shop.wrong was called, but its answer does not fit the tool's "
            "output schema: $.amount: 'much' is not of type 'integer'",
        ),
        (
            "broken",
            "McpAnswerInvalid: mcp.shop.broken was called, but the answer of MCP server 'shop' "
            "does not fit the protocol: _meta is not an object",
        ),
        (
            "none",
            "McpAnswerInvalid: the tool was called, but its answer has no structured content, "
            "which its output schema promises",
        ),
    ],
)
async def test_answers_are_held_to_output_schemas(tool: str, answer: str) -> None:
    program = str(TOOLS_SERVER.with_name("promising_server.py"))
    shop = {"command": sys.executable, "args": [program]}
    plugin = mcp({"mcpServers": {"shop": shop}})
    async with InterpreterStack(plugins=[plugin]) as stack, stack.session() as session:
        code = f"try {{ (await mcp.shop.{tool}({{}})).amount }} catch (error) {{ String(error) }}"
        assert (await session.eval(code)).text == answer
