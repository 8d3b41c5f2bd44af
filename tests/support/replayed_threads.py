"""Agents that write a database, and replays of its threads."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
import stores
from click.testing import CliRunner
from fake_models import FakeModel
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage

from interpstack_cli import main

__all__ = ["Thread", "said", "thread"]

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def message(*calls: tuple[str, dict[str, Any]]) -> AIMessage:
    """A message of the model with calls: names and arguments."""
    made = [
        {"name": name, "args": args, "id": uuid.uuid4().hex, "type": "tool_call"}
        for name, args in calls
    ]
    return AIMessage("", tool_calls=made)


@attrs.define(eq=False)
class Thread:
    """An agent on a database, whose thread can be replayed.

    Attributes:
        agent: The agent.
        queue: What its model says next.
        place: The database.
        middleware: The agent's interpreters.
    """

    agent: Any
    queue: list[AIMessage]
    place: str
    middleware: list[Any]

    async def turn(self, *said: AIMessage) -> list[str]:
        """One turn; the texts that answer the calls."""
        self.queue[:] = [*said, AIMessage("done")]
        return _texts(await self.agent.ainvoke({"messages": [("user", "go")]}, CONFIG))

    async def resume(self, command: Any) -> list[str]:
        """Answer an interrupt; the texts that answer the calls of the turn."""
        return _texts(await self.agent.ainvoke(command, CONFIG))

    async def replayed(self, *args: str, status: int = 0) -> list[dict[str, Any]]:
        """The thread's evals, replayed as JSON."""
        text = await self.shown("--json", *args, status=status)
        found: list[dict[str, Any]] = json.loads(text)
        return found

    async def shown(self, *args: str, status: int = 0) -> str:
        """The output of a replay."""
        given = ["replay", "t", "--checkpointer", self.place, *args]
        runner = CliRunner()
        done = await asyncio.to_thread(runner.invoke, main, given, catch_exceptions=False)
        assert done.exit_code == status, done.output
        return str(done.stdout)


def _texts(state: Any) -> list[str]:
    messages = state["messages"]
    last = max(i for i, one in enumerate(messages) if one.type == "human")
    return [one.text for one in messages[last:] if isinstance(one, ToolMessage)]


@pytest.fixture
async def thread(tmp_path: Path) -> AsyncIterator[Callable[..., Thread]]:
    """Makes agents on one SQLite database; closes their interpreters."""
    place, opened = str(tmp_path / "checkpoints.db"), []
    async with stores.open_saver("sqlite-async", place) as saver:

        def make(*middleware: Any, tools: Any = ()) -> Thread:
            queue: list[AIMessage] = []
            model = FakeModel(messages=(queue.pop(0) for _ in iter(int, 1)), disable_streaming=True)
            opened.extend(middleware)
            agent = create_agent(
                model, tools=list(tools), middleware=list(middleware), checkpointer=saver
            )
            return Thread(agent, queue, place, list(middleware))

        yield make
        for one in opened:
            await one.aclose()


@pytest.fixture
def said() -> Callable[..., AIMessage]:
    """A message of the model with calls: names and arguments."""
    return message
