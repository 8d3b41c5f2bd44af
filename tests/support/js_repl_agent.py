"""One turn of an agent with a JavaScript REPL, in a process of its own.

Usage: js_repl_agent.py FOLDER CELL... Effects are noted in FOLDER. The tool `die` kills the
process, and `slow` takes longer than any test.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import uuid
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from stores import open_saver

from interpstack_js_repl import JsReplMiddleware


class Model(GenericFakeChatModel):
    """Says what it is told to."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Model:
        return self


def cell(code: str) -> AIMessage:
    """A message of the model with one cell."""
    call: Any = {"name": "js_repl", "args": {"code": code}, "id": uuid.uuid4().hex}
    return AIMessage("", tool_calls=[{**call, "type": "tool_call"}])


async def main(folder: Path, cells: list[str]) -> None:
    """Run the turn."""

    @tool
    def pay(to: str) -> str:
        """Pay somebody."""
        with (folder / "paid").open("a") as file:
            file.write(f"{to}\n")
        return f"paid {to}"

    @tool
    def die() -> str:
        """End the process, as a crash does."""
        os.kill(os.getpid(), signal.SIGKILL)
        return ""

    @tool
    async def slow() -> str:
        """Take longer than any test."""
        (folder / "begun").touch()
        try:
            await asyncio.sleep(600)
        finally:
            (folder / "stopped").touch()
        return ""

    said = iter([*map(cell, cells), AIMessage("done")])
    model = Model(messages=said, disable_streaming=True)
    async with (
        open_saver("sqlite-async", str(folder / "checkpoints.db")) as saver,
        JsReplMiddleware() as middleware,
    ):
        own = [pay, die, slow]
        agent = create_agent(model, tools=own, middleware=[middleware], checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "t"}}
        await agent.ainvoke({"messages": [("user", "go")]}, config)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2:]))
