"""Conversations out of a checkpointer, however a source reaches it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from inspected_agents import agent, config, turn
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from workflow_runs import MemoryRuns

from interpstack_langchain.inspecting.checkpointer_source import CheckpointerSource
from interpstack_langchain.inspecting.conversations import ReadingOptions
from interpstack_workflows.api import WorkflowStore


class Source(CheckpointerSource):
    """A checkpointer in memory, and how often it was looked at."""

    options = ReadingOptions()

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        self.saver, self.runs, self.readings = saver, MemoryRuns(), 0

    @property
    def title(self) -> str:
        return "memory"

    async def _read_saver(self, read: Callable[[BaseCheckpointSaver[Any]], Any]) -> Any:
        self.readings += 1
        return read(self.saver)

    async def _read_runs(self, read: Callable[[WorkflowStore], Awaitable[Any]]) -> Any:
        self.readings += 1
        return await read(self.runs)

    def _written_runs(self) -> AbstractAsyncContextManager[WorkflowStore]:
        return nullcontext(self.runs)


async def test_each_question_opens_the_checkpointer_once() -> None:
    saver = InMemorySaver()
    source, made = Source(saver), agent(saver)
    await made.ainvoke(turn("1 + 1"), config("talk"))
    before = await source.version("talk")
    assert [row.name for row in await source.conversations()] == ["talk"]
    assert await source.conversations(containing="other") == []
    assert (await source.conversation("talk")).name == "talk"
    assert (await source.eval("talk", 1)).summary.code == "1 + 1"
    assert source.readings == 5
    assert list(await source.workflows()) == []
    assert source.readings == 6
    await made.ainvoke(turn("2"), config("talk"))
    assert await source.version("talk") != before
