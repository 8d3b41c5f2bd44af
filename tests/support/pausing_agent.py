"""An agent whose eval needs an approval while another call of its code runs, in an own process.

Usage: pausing_agent.py FOLDER WAY DO, where WAY is `async` or `sync` and DO is `start`, `approve`,
or `approve N` to wait for another process for N seconds at most. Prints one JSON text: the value of
the interrupt, the answer of the eval, or the error; then `recorded` once all answers are recorded.
The process lives on until its input ends. Calls of `slow` note their id in FOLDER when they begin,
and end when a file there says so.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

from fake_models import FakeModel
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command
from stores import open_saver

from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.durability import databases

CODE = "(await Promise.all([tools.slow({n: 1}), tools.pay({})])).join()"
CONFIG: Any = {"configurable": {"thread_id": "t"}}


def _tools(folder: Path, way: str) -> list[Any]:
    def note(text: str) -> None:
        with (folder / "effects").open("a") as file:
            file.write(f"{text}\n")

    def update(call_id: str) -> Command[Any]:
        return Command(update={"messages": [ToolMessage("slow", tool_call_id=call_id)]})

    @tool("slow")
    async def slow_on_loop(n: int, call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Take long."""
        note(f"slow {call_id}")
        while not (folder / "go").exists():  # noqa: ASYNC110 - made by another process
            await asyncio.sleep(0.01)
        return update(call_id)

    @tool
    def slow(n: int, call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Take long."""
        note(f"slow {call_id}")
        while not (folder / "go").exists():
            time.sleep(0.01)
        return update(call_id)

    @tool
    def pay() -> str:
        """Pay."""
        note("pay")
        return "paid"

    return [slow if way == "sync" else slow_on_loop, pay]


async def main(folder: Path, way: str, do: str, bound: str = "") -> None:
    """Begin or resume the thread, and print where it has come to."""
    call = {"name": "eval", "args": {"code": CODE}, "id": "1", "type": "tool_call"}
    said = [AIMessage("", tool_calls=[call])] if do == "start" else []
    model = FakeModel(messages=iter([*said, AIMessage("done")]), disable_streaming=True)
    middleware = CodeInterpreterMiddleware(
        ptc=["slow", "pay"],
        interrupt_on={"pay": True},
        pause_grace=0.05,
        lock_timeout=float(bound) if bound else None,
    )
    kind = "sqlite" if way == "sync" else "sqlite-async"
    async with open_saver(kind, str(folder / "checkpoints.db")) as saver:
        agent: Any = create_agent(
            model, tools=_tools(folder, way), middleware=[middleware], checkpointer=saver
        )
        approve = Command(resume={"decisions": [{"type": "approve"}]})
        given = {"messages": [("user", "go")]} if do == "start" else approve
        try:
            if way == "sync":
                state = await asyncio.to_thread(agent.invoke, given, CONFIG)
            else:
                state = await agent.ainvoke(given, CONFIG)
        except TimeoutError as error:
            answers: Any = str(error)
        else:
            answers = _answer_of(state)
        print(json.dumps(answers), flush=True)
        while any(one.late_recorders for one in databases._known.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        print("recorded", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        os._exit(0)  # as a process that is killed: nothing is closed


def _answer_of(state: Any) -> Any:
    if state.get("__interrupt__"):
        return state["__interrupt__"][0].value
    return next(m.text for m in reversed(state["messages"]) if getattr(m, "name", "") == "eval")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
