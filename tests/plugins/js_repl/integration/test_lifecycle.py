"""Lives of calls and processes: how calls end, and what time-outs, failures and crashes leave.

Each row has cells with a part of their answers, and the tools' notes in their order.
"""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import psutil
import pytest
from js_repl_samples import PNG
from langchain_core.tools import tool

from interpstack_node.engine import NodeEngine

URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
SHORT = "// interpstack: timeout_ms=1000\n"
TIMED_OUT = "js_repl execution timed out after 1 s"
#: Starts the process, so that a cell with little time has all of it.
FIRST = ("0", "<result>0</result>")
NOTES: list[str] = []


@tool
async def late(text: str = "late") -> str:
    """Take a moment."""
    await asyncio.sleep(0.05)
    NOTES.append(text)
    return text


@tool
async def slow() -> str:
    """Take longer than any cell may."""
    try:
        await asyncio.sleep(600)
    finally:
        NOTES.append("stopped")
    return "never"


@tool
async def fail() -> str:
    """Fail."""
    NOTES.append("failed")
    raise ValueError("no such thing")


CELLS: dict[str, tuple[list[tuple[str, str]], list[str]]] = {
    "calls run side by side": (
        [
            (
                "const open = ['a', 'b', 'c'].map((text) => codex.tool('late', {text}));"
                "(await Promise.all(open)).join()",
                "<result>a,b,c</result>",
            )
        ],
        ["a", "b", "c"],
    ),
    "a call that fails later ends no process": (
        [
            ("let kept = 1; const f = () => kept; codex.tool('fail'); kept", "<result>1</result>"),
            ("f()", "<result>1</result>"),
        ],
        ["failed"],
    ),
    "a rejection that nobody handles ends no process": (
        [
            ("const f = () => 1; Promise.reject(new Error('odd')); f()", "<result>1</result>"),
            ("f()", "<result>1</result>"),
        ],
        [],
    ),
    "an exception of a timer ends no process": (
        [
            (
                "const f = () => 1; setTimeout(() => { throw new Error('odd') }, 1);"
                "await new Promise((done) => setTimeout(done, 20)); f()",
                "<result>1</result>",
            ),
            ("f()", "<result>1</result>"),
        ],
        [],
    ),
    "a failed cell waits for its calls, and keeps its error": (
        [
            (
                f"codex.emitImage(codex.tool('late').then(() => '{URL}')); null.x",
                '<error type="TypeError">',
            ),
            ("1", "<result>1</result>"),
        ],
        ["late"],
    ),
    "a time-out stops the calls": (
        [FIRST, (f"{SHORT}await codex.tool('slow')", TIMED_OUT), ("1", "<result>1</result>")],
        ["stopped"],
    ),
    "a time-out cannot be caught": (
        [
            FIRST,
            (f"{SHORT}try {{ await codex.tool('slow') }} catch {{}} finally {{ 1 }}", TIMED_OUT),
            ("1", "<result>1</result>"),
        ],
        ["stopped"],
    ),
    "a time-out keeps variables, functions and output": (
        [
            ("let n = 1; const add = () => ++n; 0", "<result>0</result>"),
            (f"{SHORT}console.log('so far'); add(); await codex.tool('slow')", "so far"),
            ("add()", "<result>3</result>"),
        ],
        ["stopped"],
    ),
    "time for calls counts as the cell's": (
        [
            (
                "// interpstack: timeout_ms=300\nfor (;;) await codex.tool('late', {text: ''})",
                "js_repl execution timed out after 0.3 s",
            )
        ],
        [],
    ),
}


@pytest.mark.parametrize("name", CELLS)
async def test_calls_and_time_outs(repl: Any, name: str) -> None:
    NOTES.clear()
    rows, notes = CELLS[name]
    chat = repl(tools=[late, slow, fail])
    said = await chat.run(*(code for code, _ in rows))
    for (code, part), answer in zip(rows, said, strict=True):
        assert part in answer, code
    assert sorted(note for note in NOTES if note) == notes


async def test_a_process_that_dies_in_a_cell_costs_that_cell(repl: Any) -> None:
    others = {child.pid for child in psutil.Process().children(recursive=True)}

    @tool
    async def kill() -> str:
        """End the REPL's processes."""
        for child in psutil.Process().children(recursive=True):
            if child.pid not in others:
                child.kill()
        return "killed"

    chat = repl(tools=[kill])
    said = await chat.run(
        "let kept = [1]; const f = () => 1; 0",
        "kept.push(2); await codex.tool('kill'); await codex.tool('kill'); 1",
        "kept.length",
        "f()",
    )
    assert "<error" in said[1]
    assert said[2].endswith("<result>1</result>")  # as before the cell that was lost
    assert "<error" in said[3]
    assert any("<notice>" in answer and "f" in answer for answer in said[1:])


async def test_a_process_that_is_killed_while_a_cell_computes(repl: Any) -> None:
    NOTES.clear()
    others = {child.pid for child in psutil.Process().children(recursive=True)}
    chat = repl(tools=[late])
    await chat.run("let kept = [1]; const f = () => 1; 0")
    turn = asyncio.ensure_future(
        chat.messages("kept.push(2); await codex.tool('late'); for (;;);", "kept.length", "f()")
    )
    while not NOTES:  # noqa: ASYNC110 - a tool in another context
        await asyncio.sleep(0.01)
    for child in psutil.Process().children(recursive=True):
        if child.pid not in others:
            child.kill()
    lost, kept, gone = await turn
    assert lost.status == "error"
    assert '<error type="EngineFailure">' in lost.text
    assert kept.text.endswith("<result>1</result>")  # as before the cell that was lost
    assert gone.status == "error"
    assert any("<notice>" in answer.text and "f" in answer.text for answer in (lost, kept, gone))


async def test_a_file_sees_variables_of_the_session(repl: Any, tmp_path: Path) -> None:
    seen = "`${globalThis.shared} ${typeof tmpDir} ${await codex.tool('late')}`"
    (tmp_path / "sees.mjs").write_text(f"export const seen = {seen}; console.log('file')", "utf-8")
    chat = repl(tools=[late], engine=NodeEngine(working_dir=tmp_path))
    (said,) = await chat.run("globalThis.shared = 5; (await import('./sees.mjs')).seen")
    assert said == "<stdout>\nfile\n</stdout>\n<result>5 string late</result>"
