"""Payments that a person approves, in runs that end at the worst moment of a pause.

An eval records a pause, and LangGraph then stores its interrupt. Runs end in between: their process
is killed, they are cancelled, or the write of the interrupt fails. Until the next run, the thread
shows the interrupt of the question before.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.types import Command, interrupt
from scripted import Script
from stores import open_saver

from interpstack_langchain import CodeInterpreterMiddleware

__all__ = ["conversation", "lines"]

JOURNAL, INTERRUPT = "interpreter_ledger", "__interrupt__"


class LostWrite(OSError):
    """The database is not there for the write of an interrupt."""


@attrs.define
class Aim:
    """Ends a run between the record of a pause and its interrupt.

    Attributes:
        way: `kill`, `cancel` or `fail`.
        folder: Where the ends are noted.
        at: `record`, to end the next run that records a pause right after that; `interrupt`, to
            end it right before LangGraph stores the interrupt; empty to let all runs go on.
        run: The run.
        recorded: Whether the run has recorded a pause.
        writing: Writes that have begun: LangGraph does not wait for those of a cancelled run, and
            who looks at the thread in the meantime is shown an interrupt that is about to change.
    """

    way: str
    folder: Path
    at: str = ""
    run: asyncio.Task[Any] | None = None
    recorded: bool = False
    writing: set[asyncio.Task[Any]] = attrs.field(factory=set)

    def wrap(self, saver: Any, is_async: bool) -> None:
        """Watch the writes of a checkpointer."""
        name = "aput_writes" if is_async else "put_writes"
        original = getattr(saver, name)

        def blocking(config: Any, writes: Any, *rest: Any) -> Any:
            self.before(writes)
            original(config, writes, *rest)
            self.after(writes)

        async def on_loop(config: Any, writes: Any, *rest: Any) -> Any:
            self.before(writes)
            write = asyncio.ensure_future(original(config, writes, *rest))
            self.writing.add(write)
            write.add_done_callback(self.writing.discard)
            await asyncio.shield(write)
            self.after(writes)

        setattr(saver, name, on_loop if is_async else blocking)

    def before(self, writes: Sequence[tuple[str, Any]]) -> None:
        stores_interrupt = any(channel == INTERRUPT for channel, _ in writes)
        if self.at == "interrupt" and self.recorded and stores_interrupt:
            self.end()

    def after(self, writes: Sequence[tuple[str, Any]]) -> None:
        entry = writes[0][1] if writes and writes[0][0] == JOURNAL else {}
        if "pauses" in entry.get("notes", {}):
            self.recorded = True
            if self.at == "record":
                self.end()

    def end(self) -> None:
        add(self.folder / "ends", self.at)
        self.at = ""
        if self.way == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.way == "fail":
            raise LostWrite("the database is not there")
        assert self.run is not None
        self.run.cancel()


def add(path: Path, line: str) -> None:
    """Add a line as one write, which outlives the process."""
    file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


def lines(path: Path) -> list[str]:
    """The lines of a file; none if it does not exist."""
    return path.read_text().splitlines() if path.exists() else []


def make_agent(job: dict[str, Any], saver: Any) -> tuple[Any, CodeInterpreterMiddleware]:
    """An agent whose code pays: with an approval, or through a tool that asks itself."""
    folder, is_async = Path(job["folder"]), job["store"].endswith("async")

    def pay(n: int) -> int:
        """Pay."""
        if str(n) not in lines(folder / "approved"):
            add(folder / "unapproved", str(n))
        add(folder / "paid", str(n))
        return n

    def ask(n: int) -> int:
        """Ask, and pay."""
        return pay(n) if interrupt({"n": n}) == "yes" else 0

    def made(function: Any) -> StructuredTool:
        async def on_loop(n: int) -> int:
            return int(function(n))

        way = {"coroutine": on_loop} if is_async else {"func": function}
        return StructuredTool.from_function(**way, name=function.__name__, description="Pay.")

    interpreter = CodeInterpreterMiddleware(ptc=[made(pay), made(ask)], interrupt_on={"pay": True})
    return create_agent(Script(), middleware=[interpreter], checkpointer=saver), interpreter


def code(job: dict[str, Any]) -> str:
    """Code that makes the payments of one round after those of the round before."""
    pays = f"round.map(n => tools.{job['tool']}({{n}}))"
    return f"for (const round of {json.dumps(job['rounds'])}) await Promise.all({pays}); 'paid'"


def numbers(shown: Any) -> list[int]:
    """The payments that an interrupt shows."""
    if "action_requests" in shown.value:
        return [one["args"]["n"] for one in shown.value["action_requests"]]
    return [shown.value["n"]]


def answer(shown: Any, folder: Path) -> Any:
    """Approve what an interrupt shows, and note what that was."""
    for n in numbers(shown):
        add(folder / "approved", str(n))
    if "action_requests" in shown.value:
        return {"decisions": [{"type": "approve"} for _ in numbers(shown)]}
    return "yes"


async def conversation(job: dict[str, Any]) -> None:
    """Approve what the thread shows, with plain answers, until its eval has ended.

    `job["aims"]` says where the first runs end; see `Aim.at`.
    """
    folder, is_async = Path(job["folder"]), job["store"].endswith("async")
    config: Any = {"configurable": {"thread_id": job["thread"]}}
    ends = list(job["aims"])
    async with open_saver(job["store"], job["place"]) as saver:
        aim = Aim(job["way"], folder)
        aim.wrap(saver, is_async)
        agent, interpreter = make_agent(job, saver)

        async def call(name: str, *given: Any) -> Any:
            if is_async:
                return await getattr(agent, f"a{name}")(*given, config)
            return await asyncio.to_thread(getattr(agent, name), *given, config)

        for _ in range(4 * len(job["rounds"]) + 4):
            state = await call("get_state")
            messages = state.values.get("messages", [])
            if any(isinstance(one, ToolMessage) for one in messages):
                break
            given: Any = None
            if not messages:
                given = {"messages": [("user", json.dumps([code(job)]))]}
            elif len(state.interrupts) == 1:
                given = Command(resume=answer(state.interrupts[0], folder))
            elif state.interrupts:
                given = Command(resume={one.id: answer(one, folder) for one in state.interrupts})
            if not aim.at and ends:
                aim.at = ends.pop(0)
            aim.recorded = False
            aim.run = asyncio.ensure_future(call("invoke", given))
            await asyncio.wait([aim.run])
            await asyncio.gather(*aim.writing)
            error = None if aim.run.cancelled() else aim.run.exception()
            if error is not None and not isinstance(error, LostWrite):
                raise error
        else:
            raise AssertionError("the conversation is stuck")
    interpreter.stack.close()
