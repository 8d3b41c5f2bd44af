"""An agent whose code calls an MCP server, in a process that another one may kill.

Run as `python mcp_agent.py FOLDER`. The first process of a folder holds in the tool `hold` until it
is killed; the next one goes on from the checkpoint, and writes the answers of the evals.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from mcp_config import Notes, servers
from scripted import Script, answers

from interpstack_langchain import CodeInterpreterMiddleware

CODE = """
const first = (await mcp.tools.note({text: "first"}))[0].text
const both = await Promise.all(["a", "b"].map(text => mcp.tools.note({text})))
await tools.hold()
const last = (await mcp.tools.note({text: "last"}))[0].text;
[first, ...both.map(blocks => blocks[0].text), last].join()
"""


async def main(folder: Path) -> None:
    held = folder / "held"

    @tool
    async def hold() -> str:
        """Hold the first process that comes here."""
        if held.exists():
            return "not held"
        held.touch()
        await asyncio.sleep(600)
        return "held for too long"

    middleware = CodeInterpreterMiddleware(mcp=servers(Notes(folder / "notes.txt")), ptc=[hold])
    config = {"configurable": {"thread_id": "t"}}
    given = None if held.exists() else {"messages": [("user", json.dumps([CODE]))]}
    async with AsyncSqliteSaver.from_conn_string(str(folder / "agent.db")) as saver:
        agent = create_agent(Script(), middleware=[middleware], checkpointer=saver)
        answer = await agent.ainvoke(given, config)
    print(json.dumps(answers(answer)))
    await middleware.aclose()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
