"""Cells that are ended from outside: by a user, by a question, by a crash of the host."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import stores
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.types import Command, interrupt

PROGRAM = Path(__file__).parents[3] / "support" / "js_repl_agent.py"
CONFIG: Any = {"configurable": {"thread_id": "t"}}
#: A cell that has changed a variable when it is ended.
CELL = "n = 2; await codex.tool('pay', 'ann'); n = 3; await codex.tool('slow'); n = 4"

#: The same, while it computes.
COMPUTES = "n = 2; await codex.tool('pay', 'ann'); for (;;);"


class Calls:
    """Tools that tell what has happened to their calls."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.begun = False

    @property
    def tools(self) -> list[Any]:
        @tool
        async def pay(to: str) -> str:
            """Pay somebody."""
            self.seen.append(f"paid {to}")
            return to

        @tool
        async def slow() -> str:
            """Take longer than any test."""
            self.begun = True
            try:
                await asyncio.sleep(600)
            finally:
                self.seen.append("stopped")
            return ""

        @tool
        def ask(what: str) -> str:
            """Ask somebody."""
            self.seen.append(f"asked {what}")
            return str(interrupt(what))

        return [pay, slow, ask]


@pytest.mark.parametrize("cells", [[CELL], [CELL, "n = 5"], [COMPUTES], [COMPUTES, "n = 5"]])
async def test_a_cancelled_turn(repl: Any, cells: list[str]) -> None:
    calls = Calls()
    chat = repl(tools=calls.tools)
    await chat.run("let n = 1; const f = () => n; 0")
    made: list[Any] = [{"name": "js_repl", "args": {"code": cell}, "id": cell} for cell in cells]
    turn = asyncio.ensure_future(chat.turn(AIMessage("", tool_calls=made)))
    waits = CELL in cells
    while not (calls.begun if waits else calls.seen):  # noqa: ASYNC110 - a tool in another context
        await asyncio.sleep(0.01)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    seen = ["paid ann", "stopped"] if waits else ["paid ann"]
    assert calls.seen == seen
    chat.queue.clear()
    # The turn was not finished, so the conversation goes on from the cell before.
    (said,) = await chat.run("n")
    assert "Not restored: f" in said
    assert said.endswith("<result>1</result>")
    assert calls.seen == seen


async def test_a_question_ends_no_cell(repl: Any) -> None:
    calls = Calls()
    chat = repl(tools=calls.tools)
    await chat.run("let n = 1; const f = () => n; 0")
    result = await chat.turn(
        "n = 2; await codex.tool('pay', 'ann'); const when = await codex.tool('ask', 'when?');"
        "[n, when]"
    )
    assert [one.value for one in result["__interrupt__"]] == ["when?"]
    result = await chat.agent.ainvoke(Command(resume="now"), CONFIG)
    (answer,) = [one for one in result["messages"] if one.type == "tool"][-1:]
    # Node begins such a cell again, from the plain values of the cells before.
    assert "Not restored: f" in answer.text
    assert answer.text.endswith('<result>[2, "now"]</result>')
    assert calls.seen.count("paid ann") == 1


def start(folder: Path, *cells: str) -> subprocess.Popen[str]:
    """A host in a process of its own."""
    command = [sys.executable, str(PROGRAM), str(folder), *cells]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


@pytest.fixture
async def after(tmp_path: Path, repl: Any) -> AsyncIterator[Callable[[], Any]]:
    """Makes an agent on the database of a host that is gone."""
    async with stores.open_saver("sqlite-async", str(tmp_path / "checkpoints.db")) as saver:

        @tool
        def pay(to: str) -> str:
            """Pay somebody."""
            raise AssertionError("it was paid")

        @tool
        def die() -> str:
            """End the process, as a crash does; not any more."""
            return "alive"

        yield lambda: repl(tools=[pay, die], checkpointer=saver)


def paid(folder: Path) -> list[str]:
    return (folder / "paid").read_text("utf-8").split()


async def test_ctrl_c_in_the_middle_of_a_cell(tmp_path: Path, after: Any) -> None:
    process = start(tmp_path, "let n = 1; n", CELL)
    while process.poll() is None and not (tmp_path / "begun").exists():  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate()[1]
    assert (tmp_path / "stopped").exists()
    (said,) = await after().run("n")
    assert said.endswith("<result>1</result>")
    assert paid(tmp_path) == ["ann"]


async def test_a_host_that_is_killed_in_the_middle_of_a_cell(tmp_path: Path, after: Any) -> None:
    killed = start(
        tmp_path,
        "let n = 1; const list = new Map([['a', 1]]); const f = () => n; f()",
        "const said = await codex.tool('pay', 'ann'); n += 1; const now = await codex.tool('die');"
        "[n, said, now, list.get('a')]",
    )
    await asyncio.to_thread(killed.communicate)
    assert killed.returncode == -signal.SIGKILL
    assert paid(tmp_path) == ["ann"]
    chat = after()
    chat.queue.append(AIMessage("done"))
    state = await chat.agent.ainvoke(None, CONFIG)
    first, second = [one.text for one in state["messages"] if one.type == "tool"]
    assert first == "<result>1</result>"
    assert "Not restored: f" in second  # the model is told what it must define again
    assert second.endswith('<result>[2, "paid ann", "alive", 1]</result>')
    assert (await chat.run("[n, typeof said]")) == ['<result>[2, "string"]</result>']
    assert paid(tmp_path) == ["ann"]
