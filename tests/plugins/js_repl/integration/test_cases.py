"""Cases of a persistent REPL from end to end, each a row: cells, and what their answers hold.

The numbered rows, against Node:

| Row | Case | Here |
|---|---|---|
| 1 | a constant is there in the next cell | |
| 2 | a second `let` of a name | is allowed; a fault of the source leaves the first value |
| 3 | `await` at the top | |
| 4 | the console's depth, and `%s` | `%s` is filled in, as Node does |
| 5 | a helper that a cell kept | |
| 6 | a timer of a cell that is over | ends with its cell, so nothing fires |
| 7 | a call that nobody awaits | |
| 8 | an emission of no image, ignored and caught | |
| 9 | a local file that changes between cells | |
| 10 | a local file imported twice in a cell | |
| 11 | modules that reach the host, from a cell and from a file | |
| 12 | a package that is a link to another place | |
| 13 | a kernel that is killed between cells | plain values are restored, the rest is told |
| 14 | an endless loop | variables stay |
| 15 | a reset in the message of a running cell | |
| 16 | U+2028 in a tool's answer | |
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import psutil
import pytest
from js_repl_samples import PNG
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.types import Command

from interpstack import hookimpl
from interpstack_display.api import attachments_of
from interpstack_node.engine import NodeEngine

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


def call(code: str | None) -> dict[str, Any]:
    """A call of `js_repl`, or of its reset."""
    name, args = ("js_repl_reset", {}) if code is None else ("js_repl", {"code": code})
    return {"name": name, "args": args, "id": f"{id(code)}-{name}", "type": "tool_call"}


@attrs.frozen(kw_only=True)
class Case:
    """One row.

    Attributes:
        messages: The model's messages: the cells of each, and parts of their answers. A cell of
            `None` is a reset.
        paid: What the tool has noted by the end.
        before: What happens before some of the messages, by their places.
        files: Whether code may import files of the folder `work`.
    """

    messages: Sequence[Sequence[tuple[str | None, str]]]
    paid: Sequence[str] = ()
    before: Mapping[int, Callable[[Path], None]] = attrs.field(factory=dict)
    files: bool = False


def cells(*rows: tuple[str, str], **more: Any) -> Case:
    """A row whose cells are in messages of their own."""
    return Case(messages=[[row] for row in rows], **more)


def write(text: str) -> Callable[[Path], None]:
    return lambda work: (work / "own.mjs").write_text(text, "utf-8") and None


def kill(work: Path) -> None:
    """End the processes that the test has started."""
    own = [
        child
        for child in psutil.Process().children(recursive=True)
        if child.pid not in OTHER_PROCESSES
    ]
    assert own
    for child in own:
        child.kill()
    psutil.wait_procs(own, timeout=10)


OTHER_PROCESSES: set[int] = set()
OWN = "await import('./own.mjs').then((m) => m.own, () => 'broken')"
REFUSED = ".then(() => 'loaded', (e) => e.message)"

NUMBERED: dict[int, Case] = {
    1: cells(("const a = 1", "<result>1</result>"), ("console.log(a)", "<stdout>\n1\n")),
    2: cells(
        ("let x = 1", ""),
        ("let x = 2; const y = 1; function f() { return 1 } class C {}", ""),
        ("const y = 2; function f() { return x + y } class C {} f()", "<result>4</result>"),
        ("let x = 3; let = ;", "SyntaxError"),
        ("x", "<result>2</result>"),
    ),
    3: cells(("await Promise.resolve(3)", "<result>3</result>")),
    4: cells(
        ("console.log({a: {b: {c: {d: {e: {f: 1}}}}}})", "e: [Object]"),
        ("console.log('%s x', 'y', 1n)", "<stdout>\ny x 1n\n"),
    ),
    5: cells(
        ("globalThis.call = codex.tool; 1", "<result>1</result>"),
        ("await call('moment', 'b')", "b</result>"),
        paid=["b"],
    ),
    6: cells(
        ("setTimeout(() => codex.tool('moment', 'late'), 30); 1", "<result>1</result>"),
        ("await new Promise((done) => setTimeout(done, 90)); 2", "<result>2</result>"),
    ),
    7: cells(("codex.tool('moment', 'late'); 1", "<result>1</result>"), paid=["late"]),
    8: cells(
        ("codex.emitImage('no'); 1", "codex.emitImage only accepts data URLs"),
        ("codex.emitImage('no').catch(() => {}); 1", "<result>1</result>"),
    ),
    9: cells(
        (OWN, "<result>1</result>"),
        (OWN, "<result>broken</result>"),
        (OWN, "<result>2</result>"),
        before={1: write("export const = "), 2: write("export const own = 2")},
        files=True,
    ),
    10: cells(
        ("const [a, b] = [await import('./own.mjs'), await import('./own.mjs')]; a === b", "true"),
        files=True,
    ),
    11: cells(
        (f"await import('process'){REFUSED}", 'Importing module "process" is not allowed'),
        (
            f"await import('node:child_process'){REFUSED}",
            'Importing module "node:child_process" is not allowed',
        ),
        (
            f"await import('./spawns.mjs'){REFUSED}",
            'Importing module "child_process" is not allowed',
        ),
        files=True,
    ),
    12: cells((f"await import('linked'){REFUSED}", "there is no module 'linked'"), files=True),
    13: cells(
        ("let data = [1, 2]; const f = () => 1; 0", "<result>0</result>"),
        ("data.length", "<notice>The kernel process has ended since the last cell."),
        ("data.length", "<result>2</result>"),
        ("f()", "alue for 'f' was not restored"),
        before={1: kill},
    ),
    14: cells(
        ("let kept = 1", ""),
        ("// interpstack: timeout_ms=200\nfor (;;);", "js_repl execution timed out after 0.2 s"),
        ("kept", "<result>1</result>"),
    ),
    15: Case(
        messages=[
            [("let n = 1; await codex.tool('moment', 'first'); n", "<result>1</result>")],
            [
                ("n += 1; await codex.tool('moment', 'second'); n", "<result>2</result>"),
                (None, "js_repl kernel reset"),
                ("typeof n", "<result>undefined</result>"),
            ],
        ],
        paid=["first", "second"],
    ),
    16: cells(("await codex.tool('moment', 'b')", "<result>a\u2028b</result>"), paid=["b"]),
}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder of local files and packages."""
    folder = tmp_path / "work"
    (folder / "node_modules").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "index.js").write_text("exports.leaked = 1", "utf-8")
    (folder / "node_modules" / "linked").symlink_to(outside, target_is_directory=True)
    (folder / "own.mjs").write_text("export const own = 1", "utf-8")
    (folder / "spawns.mjs").write_text("import 'child_process'", "utf-8")
    return folder


@pytest.mark.parametrize("number", NUMBERED)
async def test_numbered_cases(repl: Any, work: Path, number: int) -> None:
    case = NUMBERED[number]
    OTHER_PROCESSES.clear()
    OTHER_PROCESSES.update(child.pid for child in psutil.Process().children(recursive=True))
    chat = repl(tools=[moment], **({"engine": NodeEngine(working_dir=work)} if case.files else {}))
    for place, rows in enumerate(case.messages):
        case.before.get(place, lambda work: None)(work)
        said = await chat.run(AIMessage("", tool_calls=[call(code) for code, _ in rows]))
        assert len(said) == len(rows)
        for (code, part), answer in zip(rows, said, strict=True):
            assert part in answer, code
    assert list(case.paid) == PAID


OTHERS: dict[str, list[tuple[str, str]]] = {
    "what a failed cell has defined stays": [
        ("const first = 1; let second = first + 1; null.x; const third = 3", "TypeError"),
        ("[first, second, typeof third].join()", "<result>1,2,undefined</result>"),
        ("const third = 4; third", "<result>4</result>"),
    ],
    "an undeclared name becomes a variable": [("g = 1", ""), ("g + 1", "<result>2</result>")],
    "the global object takes names": [
        ("globalThis.h = 1", ""),
        ("h", "<result>1</result>"),
    ],
    "functions are called by their own text": [
        ("function text(a) { return a }", ""),
        ("text.toString()", "<result>function text(a) { return a }</result>"),
    ],
    "there is no host": [
        ("[typeof process, typeof require, typeof module].join()", "undefined,undefined,undefined"),
    ],
}


@pytest.mark.parametrize("name", OTHERS)
async def test_other_cells(repl: Any, name: str) -> None:
    said = await repl(tools=[moment]).run(*(code for code, _ in OTHERS[name]))
    for (code, part), answer in zip(OTHERS[name], said, strict=True):
        assert part in answer, code


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
