"""The trace goes on in MCP servers."""

from __future__ import annotations

from pathlib import Path

from mcp_config import Notes, servers
from traces import Traces

from interpstack import InterpreterStack
from interpstack_mcp.api import mcp


async def test_a_call_carries_its_span_to_the_server(traces: Traces, tmp_path: Path) -> None:
    plugins = [traces.plugin, mcp(servers(Notes.empty(tmp_path)))]
    async with InterpreterStack(plugins=plugins) as stack, stack.session() as session:
        outcome = await session.eval("(await mcp.tools.metadata()).traceparent")
    span = traces.one("execute_tool mcp.tools.metadata").get_span_context()
    assert outcome.text.split("-")[1:3] == [f"{span.trace_id:032x}", f"{span.span_id:016x}"]
