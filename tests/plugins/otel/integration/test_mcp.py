"""The trace goes on in MCP servers, and that of a client goes on in the code that is served."""

from __future__ import annotations

import subprocess
import sys
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


#: The tracers of the process are global, and set once.
SERVED = """
import asyncio
from mcp import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from interpstack import HostOffer, InterpreterStack
from interpstack_mcp.api import CodeServer

exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

async def main():
    server = CodeServer(InterpreterStack(plugins=["otel"]), HostOffer())
    async with Client(server.app()) as client:
        meta = {"traceparent": f"00-{7:032x}-{9:016x}-01"}
        await client.call_tool("run_code", {"code": "1"}, meta=meta)
    await server.aclose()
    await server.stack.aclose()
    spans = {one.name: one for one in exporter.get_finished_spans()}
    cell, request = spans["interpstack.eval"], spans["tools/call run_code"]
    print(cell.context.trace_id, cell.parent == request.context, request.parent.span_id)

asyncio.run(main())
"""


def test_served_code_is_part_of_the_trace_of_its_client() -> None:
    done = subprocess.run([sys.executable, "-c", SERVED], capture_output=True, text=True)
    assert done.stdout.split() == ["7", "True", "9"], done.stderr
