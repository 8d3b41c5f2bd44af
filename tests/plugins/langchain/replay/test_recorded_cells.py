"""Replays of cells in the background, whose record spreads over several calls of the model."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.types import Command

from interpstack_langchain import BackgroundOptions, CodeInterpreterMiddleware

GIF = "data:image/gif;base64,R0lGODlhAQ=="
TWO = (
    f"console.log('begun'); await display('{GIF}'); const a = await tools.slow({{n: 1}});"
    "console.log('half'); const b = await tools.slow({n: 2}); console.log('end'); a + b"
)


class Slow:
    """A tool whose calls end when they may."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.gates: dict[int, asyncio.Event] = {}

    def gate(self, n: int) -> asyncio.Event:
        return self.gates.setdefault(n, asyncio.Event())

    @property
    def tools(self) -> list[Any]:
        @tool
        async def slow(n: int) -> int:
            """Take long."""
            self.calls.append(n)
            await self.gate(n).wait()
            return n

        @tool
        async def pay(n: int) -> str:
            """Pay."""
            self.calls.append(-n)
            return f"paid {n}"

        return [slow, pay]


@pytest.fixture
def slow() -> Slow:
    return Slow()


def interpreter(**options: Any) -> CodeInterpreterMiddleware:
    options = {"ptc": ["slow", "pay"], "background": BackgroundOptions(0.05), **options}
    return CodeInterpreterMiddleware(**options)


def cell_of(text: str) -> str:
    found = re.search(r'<running id="(\w+)">', text)
    assert found, text
    return found[1]


async def wait_until(agent: Any, said: Any, cell: str, until: str) -> list[str]:
    """Look at a cell until it waits for a call, or has ended; the answers."""
    answers: list[str] = []
    while not answers or until not in answers[-1]:
        answers += await agent.turn(said(("wait", {"id": cell, "seconds": 0.1})))
    return answers


async def test_a_cell_with_its_calls(thread: Any, slow: Slow, said: Any) -> None:
    agent = thread(interpreter(), tools=slow.tools)
    (suspended,) = await agent.turn(said(("eval", {"code": TWO})))
    cell = cell_of(suspended)
    answers = [suspended, *await wait_until(agent, said, cell, "tools.slow(")]
    (found,) = await agent.replayed()
    assert found["status"] == "in flight"
    assert found["text"] == 'in flight when the record ends: tools.slow({"n": 1})'
    assert found["recorded_answer"] is None
    assert (found["cell"]["id"], found["cell"]["ended"]) == (cell, None)
    assert [one["answer"] for one in found["cell"]["calls"]] == answers
    slow.gate(1).set()
    answers += await wait_until(agent, said, cell, '"n": 2')
    slow.gate(2).set()
    answers += await wait_until(agent, said, cell, "<result>")
    calls = [*slow.calls]
    (found,) = await agent.replayed()
    assert slow.calls == calls == [1, 2]
    assert (found["status"], found["notes"]) == ("ended", [])
    assert found["text"] == found["recorded_answer"] == answers[-1]
    assert found["cell"]["ended"] == "it has ended, and its result was returned"
    assert [one["answer"] for one in found["cell"]["calls"]] == answers
    # What the code printed and showed stands once in all answers together.
    everything = "".join(answers)
    assert [everything.count(word) for word in ("begun", "half", "end\n", "Shown 1:")] == [1] * 4
    made = [call["answer"] for call in found["timeline"] if call["bridge"] == "tools.slow"]
    assert made == ["1", "2"]
    shown = await agent.shown()
    assert f"cell {cell}" in shown
    assert shown.count("begun") == shown.count("half") == 1
    assert "eval answered:" in shown
    assert "wait answered:" in shown


async def test_an_eval_that_ends_at_once_is_no_cell(thread: Any, slow: Slow, said: Any) -> None:
    agent = thread(interpreter(), tools=slow.tools)
    (ended,) = await agent.turn(said(("eval", {"code": "console.log('a\\n\\n'); 1"})))
    (found,) = await agent.replayed()
    assert found["text"] == found["recorded_answer"] == ended
    assert found["cell"] is None


async def test_evals_around_a_cell(thread: Any, slow: Slow, said: Any) -> None:
    agent = thread(interpreter(), tools=slow.tools)
    code = "var n = 1; n += await tools.slow({n: 1}); n"
    (suspended,) = await agent.turn(said(("eval", {"code": code})))
    await agent.turn(said(("eval", {"code": "n"})))
    slow.gate(1).set()
    wait = ("wait", {"id": cell_of(suspended), "seconds": 60})
    # The eval after the cell is in the message of the call that ends it.
    await agent.turn(said(wait, ("eval", {"code": "n += 5; n"})), said(("eval", {"code": "n"})))
    cell, refused, same, after = await agent.replayed()
    assert cell["text"] == "<result>2</result>"
    assert refused["status"] == "not begun"
    assert "still running and held the variables" in refused["text"]
    assert [one["text"] for one in (same, after)] == ["<result>7</result>"] * 2
    assert [one["text"] for one in (same, after)] == [
        one["recorded_answer"] for one in (same, after)
    ]


async def test_a_terminated_cell(thread: Any, slow: Slow, said: Any) -> None:
    agent = thread(interpreter(), tools=slow.tools)
    await agent.turn(said(("eval", {"code": "var n = 1"})))
    code = "n = 2; console.log('begun'); await tools.slow({n: 1}); n"
    (suspended,) = await agent.turn(said(("eval", {"code": code})))
    (over,) = await agent.turn(said(("terminate", {"id": cell_of(suspended)})))
    await agent.turn(said(("eval", {"code": "n"})))
    _, found, after = await agent.replayed()
    assert found["status"] == "terminated"
    assert found["text"] == 'in flight when the record ends: tools.slow({"n": 1})'
    assert [call["answer"] for call in found["cell"]["calls"]] == [suspended, over]
    assert found["cell"]["ended"] == "it was terminated"
    assert after["text"] == after["recorded_answer"] == "<result>1</result>"  # it was undone


async def test_an_approval_inside_a_cell(thread: Any, slow: Slow, said: Any) -> None:
    agent = thread(interpreter(interrupt_on={"pay": True}), tools=slow.tools)
    code = "const n = await tools.slow({n: 1}); [n, await tools.pay({n: 7})]"
    (suspended,) = await agent.turn(said(("eval", {"code": code})))
    slow.gate(1).set()
    await agent.turn(said(("wait", {"id": cell_of(suspended), "seconds": 60})))
    (found,) = await agent.replayed()
    assert (found["status"], found["text"]) == ("paused", 'waiting for approval of pay({"n": 7})')
    assert slow.calls == [1]
    (ended,) = await agent.resume(Command(resume={"decisions": [{"type": "approve"}]}))
    assert slow.calls == [1, -7]
    (found,) = await agent.replayed()
    assert slow.calls == [1, -7]
    assert (found["status"], found["text"]) == ("ended", ended)
    assert ended == found["recorded_answer"] == '<result>[1, "paid 7"]</result>'
    (pause,) = [event for event in found["timeline"] if event["kind"] == "pause"]
    assert (pause["resumed"], pause["waits_for"]) == (True, ['approval of pay({"n": 7})'])


@pytest.mark.parametrize("engine", ["quickjs", "v8"])
async def test_a_cell_that_another_interpreter_continues(
    thread: Any, slow: Slow, said: Any, engine: str
) -> None:
    """The other one shares nothing but the database, as one in another process."""
    first = thread(interpreter(engine=engine), tools=slow.tools)
    (suspended,) = await first.turn(said(("eval", {"code": TWO})))
    slow.gate(1).set()
    slow.gate(2).set()
    await first.middleware[0].aclose()
    second = thread(interpreter(engine=engine), tools=slow.tools)
    (ended,) = await second.turn(said(("wait", {"id": cell_of(suspended), "seconds": 60})))
    (found,) = await second.replayed("--engine", engine)
    assert found["text"] == found["recorded_answer"] == ended
    assert "<result>3</result>" in ended


async def test_a_renamed_surface(thread: Any, slow: Slow, said: Any) -> None:
    options = BackgroundOptions(0.05, tools=("more", "stop"))
    agent = thread(interpreter(tool_name="js", background=options), tools=slow.tools)
    code = "var n = await tools.slow({n: 1}); n"
    (suspended,) = await agent.turn(said(("js", {"code": code})))
    slow.gate(1).set()
    more = ("more", {"id": cell_of(suspended), "seconds": 60})
    await agent.turn(said(more, ("js", {"code": "n + 1"})))
    found = await agent.replayed("--tool-name", "js")
    assert [one["text"] for one in found] == ["<result>1</result>", "<result>2</result>"]
    assert [one["recorded_answer"] for one in found] == [one["text"] for one in found]


async def test_functions_of_earlier_evals_are_made_again(
    thread: Any, slow: Slow, said: Any
) -> None:
    """The stored variables of V8 have no functions."""
    agent = thread(interpreter(engine="v8"), tools=slow.tools)
    await agent.turn(said(("eval", {"code": "let n = 3; function which() { return n }"})))
    await agent.turn(said(("eval", {"code": "n = 4; which()"})))
    _, second = await agent.replayed()
    assert second["text"] == second["recorded_answer"] == "<result>4</result>"
    assert await agent.replayed("--eval", "2") == [second]


async def test_a_cell_that_asks_for_something_else_diverges(
    thread: Any, slow: Slow, said: Any
) -> None:
    agent = thread(interpreter(), tools=slow.tools)
    code = "await tools.slow({n: String(isNaN).length})"  # engines lay native code out differently
    (suspended,) = await agent.turn(said(("eval", {"code": code})))
    slow.gate(slow.calls[0]).set()
    await agent.turn(said(("wait", {"id": cell_of(suspended), "seconds": 60})))
    (found,) = await agent.replayed("--engine", "v8", status=3)
    assert found["status"] == "diverged"
    assert found["cell"]["id"] == cell_of(suspended)
