"""Cases of a persistent REPL from end to end, each a row: cells, and what their answers hold."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import psutil
import pytest
from js_repl_samples import PNG
from langchain_core.tools import tool
from langgraph.types import Command

from interpstack import hookimpl
from interpstack_display.api import attachments_of

URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
PAID: list[str] = []


@tool
async def moment(text: str = "") -> str:
    """Take a moment."""
    await asyncio.sleep(0.05)
    PAID.append(text)
    return f"a\u2028{text}"


@pytest.fixture(autouse=True)
def _forget() -> None:
    PAID.clear()


CASES: dict[str, list[tuple[str, str]]] = {
    "variables persist": [("const a = 1", "undefined"), ("console.log(a)", "<stdout>\n1\n")],
    "declarations may be repeated": [
        ("let x = 1", ""),
        ("let x = 2; const y = 1; function f() { return 1 } class C {}", ""),
        ("const y = 2; function f() { return x + y } class C {} f()", "<result>4</result>"),
    ],
    "await works at the top": [("await Promise.resolve(3)", "<result>3</result>")],
    "the console shows four levels": [
        ("console.log({a: {b: {c: {d: {e: {f: 1}}}}}})", "[Object]"),
        ("console.log('%s x', 'y', 1n)", "<stdout>\ny x 1n\n"),
    ],
    "functions are kept": [
        ("globalThis.call = codex.tool; 1", "<result>1</result>"),
        ("await call('moment', 'b')", "<result>a\u2028b</result>"),
    ],
    "an answer waits for open calls": [("codex.tool('moment', 'late'); 1", "<result>1</result>")],
    "an ignored failure of an image fails the cell": [
        ("codex.emitImage('no'); 1", "codex.emitImage only accepts data URLs"),
        ("codex.emitImage('no').catch(() => {}); 1", "<result>1</result>"),
    ],
    "what a failed cell has defined stays": [
        ("const first = 1; let second = first + 1; null.x; const third = 3", "TypeError"),
        ("[first, second, typeof third].join()", "<result>1,2,undefined</result>"),
        ("const third = 4; third", "<result>4</result>"),
    ],
    "a fault of the source leaves everything": [
        ("let n = 1", ""),
        ("let n = 2; let = ;", "SyntaxError"),
        ("n", "<result>1</result>"),
    ],
    "an undeclared name becomes a variable": [("g = 1", ""), ("g + 1", "<result>2</result>")],
    "the global object takes names": [
        ("globalThis.h = 1", ""),
        ("h", "<result>1</result>"),
    ],
    "an endless loop ends": [
        ("let kept = 1", ""),
        ("// interpstack: timeout_ms=200\nfor (;;);", "js_repl execution timed out after 0.2 s"),
        ("typeof Array", "<result>function</result>"),
    ],
    "functions are called by their own text": [
        ("function text(a) { return a }", ""),
        ("text.toString()", "<result>function text(a) { return a }</result>"),
    ],
    "there is no host": [
        ("[typeof process, typeof require, typeof module].join()", "undefined,undefined,undefined"),
        ("await import('process').catch((e) => e.message)", "process"),
        ("await import('node:child_process').catch((e) => e.message)", "child_process"),
    ],
}


@pytest.mark.parametrize("name", CASES)
async def test_cells(repl: Any, name: str) -> None:
    chat = repl(tools=[moment])
    said = await chat.run(*(code for code, _ in CASES[name]))
    for (code, part), answer in zip(CASES[name], said, strict=True):
        assert part in answer, code
    assert (["late"] if "open calls" in name else ["b"] if "kept" in name else []) == PAID


async def test_a_killed_process_costs_no_conversation(repl: Any) -> None:
    others = {child.pid for child in psutil.Process().children()}
    chat = repl()
    await chat.run("let data = [1, 2]; const f = () => 1")
    own = [child for child in psutil.Process().children() if child.pid not in others]
    assert own
    for child in own:
        child.kill()
    (said,) = await chat.run("data.length")
    assert said.endswith("<result>2</result>")
    assert "<notice>" in said


async def test_images_and_calls_around_an_approval_are_there_once(repl: Any) -> None:
    shown: list[int] = []
    chat = repl(tools=[moment], interrupt_on={"moment": True}, plugins=[Seen(shown)])
    result = await chat.turn(
        f"await codex.emitImage('{URL}'); const said = await codex.tool('moment', 'x');"
        f"await codex.emitImage('{URL}'); console.log(said.length); 1"
    )
    assert len(result["__interrupt__"]) == 1
    assert PAID == []
    resume: Any = Command(resume={"decisions": [{"type": "approve"}]})
    result = await chat.agent.ainvoke(resume, {"configurable": {"thread_id": "t"}})
    (answer,) = [message for message in result["messages"] if message.type == "tool"]
    assert [block["type"] for block in answer.content] == ["text", "image", "image"]
    assert "<stdout>\n3\n</stdout>\n<result>1</result>" in answer.content[0]["text"]
    assert PAID == ["x"]
    assert shown == [2]


async def test_a_failed_emission_before_an_approval_fails_the_cell_after_it(repl: Any) -> None:
    chat = repl(tools=[moment], interrupt_on={"moment": True})
    await chat.turn("codex.emitImage('no'); await codex.tool('moment', 'x'); 1")
    resume: Any = Command(resume={"decisions": [{"type": "approve"}]})
    result = await chat.agent.ainvoke(resume, {"configurable": {"thread_id": "t"}})
    (answer,) = [message for message in result["messages"] if message.type == "tool"]
    assert answer.status == "error"
    assert "codex.emitImage only accepts data URLs" in answer.text


class Seen:
    """Counts what each cell shows."""

    name = "seen"

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts

    @hookimpl(tryfirst=True)
    def interpstack_render_outcome(self, session: Any, outcome: Any) -> None:
        self.counts.append(len(attachments_of(outcome)))
