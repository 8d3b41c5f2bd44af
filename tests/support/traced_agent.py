"""A deep agent with the plugin `otel` whose eval waits for an approval; run in its own process.

Usage: traced_agent.py FOLDER URL DO, where URL is that of a collector of OTLP over HTTP, and DO is
`start`, or `approve` to resume the thread. Prints the last answer of the eval, or `paused`. Spans
are exported before the process ends.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from fake_models import FakeModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from stores import open_saver

from interpstack_langchain import CodeInterpreterMiddleware

CODE = """
const seen = await Promise.all(Array.from({length: 100}, (_, n) => tools.look({n})));
const said = await task({description: 'help', subagentType: 'kid'});
`${seen.length} ${said} ${await tools.pay({})}`
"""
CONFIG: Any = {"configurable": {"thread_id": "t"}}


@tool
async def look(n: int) -> str:
    """Look, in a span of the tool's own."""
    with trace.get_tracer("tools").start_as_current_span("inside look"):
        return f"seen {n}"


@tool
def pay() -> str:
    """Pay."""
    with trace.get_tracer("tools").start_as_current_span("inside pay"):
        return "paid"


async def main(folder: Path, url: str, do: str) -> None:
    """Begin or resume the thread."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{url}/v1/traces")))
    trace.set_tracer_provider(provider)
    call = {"name": "eval", "args": {"code": CODE}, "id": "1", "type": "tool_call"}
    said = [AIMessage("", tool_calls=[call])] if do == "start" else []
    model = FakeModel(messages=iter([*said, AIMessage("done")]), disable_streaming=True)
    kid = {
        "name": "kid",
        "description": "helps",
        "system_prompt": "Help.",
        "model": FakeModel(messages=iter([AIMessage("helped")]), disable_streaming=True),
        "tools": [],
    }
    middleware = CodeInterpreterMiddleware(
        ptc=["look", "pay"], interrupt_on={"pay": True}, plugins=["otel"]
    )
    async with open_saver("sqlite-async", str(folder / "checkpoints.db")) as saver:
        agent: Any = create_deep_agent(
            model, tools=[look, pay], subagents=[kid], middleware=[middleware], checkpointer=saver
        )
        approve = Command(resume={"decisions": [{"type": "approve"}]})
        given = {"messages": [("user", "go")]} if do == "start" else approve
        state = await agent.ainvoke(given, CONFIG)
    answers = [m.text for m in state["messages"] if isinstance(m, ToolMessage)]
    print("paused" if state.get("__interrupt__") else answers[-1])
    provider.shutdown()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
