"""One turn of an agent with evals in the background, in a process of its own.

Usage: background_agent.py FOLDER ENGINE JSON, with the model's call as JSON. Prints the answer, and
`recorded` once no call is in flight. Calls note in FOLDER that they have begun, and end when a file
there says so.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from fake_models import FakeModel
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from stores import open_saver

from interpstack_langchain import BackgroundOptions, CodeInterpreterMiddleware


async def main(folder: Path, engine: str, call: dict[str, Any]) -> None:
    """Make the call, and print its answer."""

    @tool
    async def slow(n: int) -> str:
        """Take long."""
        with (folder / "effects").open("a") as file:
            file.write(f"begun {n}\n")
        while not (folder / f"go-{n}").exists():  # noqa: ASYNC110 - made by another process
            await asyncio.sleep(0.01)
        return str(n)

    said = [AIMessage("", tool_calls=[{**call, "type": "tool_call"}]), AIMessage("done")]
    model = FakeModel(messages=iter(said), disable_streaming=True)
    middleware = CodeInterpreterMiddleware(
        ptc=["slow"], engine=engine, background=BackgroundOptions(0.2)
    )
    async with open_saver("sqlite-async", str(folder / "checkpoints.db")) as saver:
        agent = create_agent(model, tools=[slow], middleware=[middleware], checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "t"}}
        state = await agent.ainvoke({"messages": [("user", "go")]}, config)
        texts = [one.text for one in state["messages"] if isinstance(one, ToolMessage)]
        print(json.dumps(texts[-1]), flush=True)
        background = middleware._interpreter.background
        while background is not None and background.cell_locks._outlasting:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        print("recorded", flush=True)
        os._exit(0)  # as a process that is killed: nothing is closed


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])))
