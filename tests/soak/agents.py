"""The load on an agent: turns that wait for an approval, in conversations that end."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from cells import CELLS
from gates import Gate, Log, Tally
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command
from scripted import Script, answers

from interpstack import Capability
from interpstack_langchain import CodeInterpreterMiddleware

__all__ = ["AgentLoad"]

_CONVERSATIONS = 3
#: Turns of a conversation, after which its checkpoints are deleted.
_TURNS = 3
#: The most conversations that a middleware remembers, on engines that hibernate and on others.
_REMEMBERED, _AWAKE = 256, 32


class AgentLoad:
    """Runs turns of an agent on one engine, until the gate has ended.

    A middleware remembers the conversations that were used last, each with some memory and, on
    engines that cannot hibernate, with a thread and files. So at first it may get as many
    conversations as it remembers; what rises afterwards, rises without end.

    Attributes:
        warm: Set when these conversations are over.
    """

    def __init__(
        self, engine: str, folder: Path, gate: Gate, log: Log, tally: Tally, *, fills: bool
    ) -> None:
        self._engine, self._folder, self._fills = engine, folder, fills
        self._gate, self._log, self._tally = gate, log, tally
        self.warm = asyncio.Event()

    async def run(self) -> None:
        """Run all conversations."""
        tools = [
            StructuredTool.from_function(coroutine=self._note, name="note", description="Note."),
            StructuredTool.from_function(coroutine=self._pay, name="pay", description="Pay."),
        ]
        database = self._folder / f"{self._engine.replace(':', '-')}.db"
        async with AsyncExitStack() as stack:
            saver = await stack.enter_async_context(
                AsyncSqliteSaver.from_conn_string(str(database))
            )
            await saver.conn.execute("PRAGMA synchronous=OFF")
            interpreter = await stack.enter_async_context(
                CodeInterpreterMiddleware(
                    engine=self._engine, ptc=["note", "pay"], interrupt_on={"pay": True}
                )
            )
            agent = create_agent(Script(), tools, middleware=[interpreter], checkpointer=saver)
            language = interpreter.stack.language.name
            for number in range(_known(interpreter) if self._fills else 0):
                await self._turn(agent, language, thread := self._thread("first", number), 1)
                await saver.adelete_thread(thread)
            self.warm.set()
            async with asyncio.TaskGroup() as group:
                for place in range(_CONVERSATIONS):
                    group.create_task(self._converse(agent, saver, language, place))

    def _thread(self, place: object, number: int) -> str:
        return f"agent {self._engine} {place}/{number}"

    async def _note(self, name: str) -> str:
        self._log.write(name)
        return "noted"

    async def _pay(self, name: str) -> str:
        self._log.write(name)
        await asyncio.sleep(0.002)
        return "paid"

    async def _converse(self, agent: Any, saver: Any, language: str, place: int) -> None:
        for number in itertools.count():
            thread = self._thread(place, number)
            for turn in range(1, _TURNS + 1):
                if self._gate.ended:
                    return
                async with self._gate.step():
                    await self._turn(agent, language, thread, turn)
                await asyncio.sleep(0.02)
            await saver.adelete_thread(thread)

    async def _turn(self, agent: Any, language: str, thread: str, turn: int) -> None:
        """One turn: the code pays if that is approved, and the count goes on either way."""
        name = f"{thread}/{turn}"
        approved = self._tally.chance.random() < 0.7
        self._log.expect(f"{name}/a", 1, 1)
        self._log.expect(f"{name}/p", int(approved), int(approved))
        config = {"configurable": {"thread_id": thread}}
        code = CELLS[language].agent.replace("NAME", name)
        state = await agent.ainvoke({"messages": [("user", json.dumps([code]))]}, config)
        if len(state.get("__interrupt__", ())) != 1:
            self._tally.report(f"{name}: no approval was asked for: {answers(state)}")
            return
        decision = {"type": "approve"} if approved else {"type": "reject", "message": "no"}
        state = await agent.ainvoke(Command(resume={"decisions": [decision]}), config)
        expected = f"<result>{turn} {'paid' if approved else 'refused'}</result>"
        # V8 goes on from values, which it tells in a notice before the result.
        if [text.rpartition("\n")[2] for text in answers(state)] != [expected]:
            self._tally.report(f"{name}: {answers(state)} instead of {expected}")
        kind = "turn approved" if approved else "turn rejected"
        self._tally.note(f"agent on {self._engine}", kind)


def _known(interpreter: CodeInterpreterMiddleware) -> int:
    hibernates = Capability.IMAGES in interpreter.stack.engine.capabilities
    return _REMEMBERED if hibernates else _AWAKE
