"""Preparing a source costs linear time, counts as the cell's own, and can be stopped."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import Cell, InterpreterStack, Limits
from interpstack_javascript.cells import Clock, prepare
from interpstack_javascript.rewriting import rewrite as rewriting
from interpstack_javascript.rewriting.edits import Edited

MIB = 2**20


class Counter(Clock):
    """Counts how often it was asked, and ends the work at a number."""

    def __init__(self, last: int | None = None) -> None:
        self.asked = 0
        self._last = last

    def pause(self) -> None:
        self.asked += 1
        if self.asked == self._last:
            raise TimeoutError


#: What froze the host when a parser read it, and what might.
SHAPES = {
    "brackets": "[",
    "parentheses": "(",
    "calls": "()",
    "templates": "`${",
    "whole templates": "`${1}`",
    "classes": "class A{};",
    "classes without end": "class extends ",
    "declarations": "let a=1\n",
    "imports": 'import a from "a"\n',
    "imports without end": "import {",
    "calls of import": "import(",
    "comments": "/**/",
    "comments without end": "/*",
    "regular expressions": "a=/[/]/;",
    "regular expressions without end": "=/[",
    "divisions": "a/",
    "strings": '"\\"";',
    "escapes": "\\",
    "keywords": "let ",
    "loops": "do{}while(1)",
    "spaces": " " * 40 + "const",
    "comments of HTML": "<!--\n",
    "arrows of HTML": "-->",
    "labels": "a:{}",
    "dots": ". let",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_the_source_and_no_faster(shape: str) -> None:
    asked, seconds = [], []
    for size in (MIB // 8, MIB):
        source = "let a;" + SHAPES[shape] * (size // len(SHAPES[shape]))
        clock = Counter()
        began = time.process_time()
        prepare(source, clock=clock)
        seconds.append(time.process_time() - began)
        asked.append(clock.asked)
    assert asked[1] <= 9 * asked[0]
    assert seconds[1] < 10  # it takes half a second; a quadratic one took minutes


def test_a_clock_ends_the_work() -> None:
    clock = Counter(last=5)
    with pytest.raises(TimeoutError):
        prepare("let a;" * 100_000, clock=clock)
    assert clock.asked == 5


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("language", [None, "typescript"])
async def test_no_source_stops_the_host(shape: str, language: str | None) -> None:
    limits = Limits(cpu_seconds=2, wall_seconds=200)
    with InterpreterStack(limits=limits) as stack:
        session = stack.session("s")
        source = "let a=" + SHAPES[shape] * (300_000 // len(SHAPES[shape]))
        outcome = await session.eval(Cell(source=source, language=language))
        assert outcome.usage.cpu_seconds < 10
        assert (await session.eval("1 + 1")).text == "2"


async def test_preparation_counts_as_the_cells_own_time() -> None:
    source = "let a = 1;" * 100_000
    with InterpreterStack(limits=Limits(cpu_seconds=0.01)) as stack:
        session = stack.session("s")
        outcome = await session.eval(source)
        assert outcome.error is not None
        assert outcome.error.name == "Timeout"
        assert outcome.usage.cpu_seconds >= 0.01
        assert (await session.eval("typeof a")).text == "undefined"


async def test_preparation_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()
    rewrite = rewriting.rewrite

    def endless(source: str, pause: object, *, types: bool = False) -> Edited:
        loop.call_soon_threadsafe(begun.set)
        while "endless" in source:
            rewrite("let a;" * 2000, pause, types=types)  # type: ignore[arg-type]
        return Edited(source)

    monkeypatch.setattr(rewriting, "rewrite", endless)
    with InterpreterStack(limits=Limits(cpu_seconds=60)) as stack:
        session = stack.session("s")
        task = asyncio.create_task(session.eval("let endless"))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await session.eval("let a = 1; a")).text == "1"


# -- what the scan makes of valid source ---------------------------------------------------------


IMPORTS = ["import", "{", "}", "a", ",", "*", "as", "from", "'x'", ";", "(", ")", "\n", "with"]


@given(st.lists(st.sampled_from(IMPORTS), max_size=12))
def test_any_pieces_of_imports_are_prepared(pieces: list[str]) -> None:
    source = "import " + " ".join(pieces)
    assert prepare(source).count("\n") == source.count("\n")


@pytest.mark.parametrize("source", ["import", "import {", "import {a", "import {a as", "import a,"])
def test_imports_that_are_cut_short_stay(source: str) -> None:
    assert prepare(source) == source


@pytest.mark.parametrize(
    ("source", "prepared"),
    [
        ("import('x')", "$mport('x')"),
        ("f(import /* a */ ('x'))", "f($mport /* a */ ('x'))"),
        ("[...import('x')]", "[...$mport('x')]"),
        ("`${import('x')}`", "`${$mport('x')}`"),
        ("({import(x) { return 1 }})", "({import(x) { return 1 }})"),
        (
            "a.import('x'); a.import.meta; reimport('x')",
            "a.import('x'); a.import.meta; reimport('x')",
        ),
        ("[import.meta, import . meta.url]", "[$mport.meta, $mport . meta.url]"),
        ("import 'x'", "await $mport('x');"),
        ("import 'x' with {type: 'json'}; 1", "await $mport('x'); 1"),
        ("import a from 'x'", "var {default: a} = (await $mport('x', [\"default\"]));"),
        (
            "import a, * as b from 'x'; let c",
            "var {default: a} = (await $mport('x', [\"default\"])); "
            "var b = (await $mport('x', [\"default\"])); var c",
        ),
        (
            "import {\n  a as b, // why\n  'c d' as e,\n} from 'x'\nb",
            "var {a: b, 'c d': e} = (await $mport('x', [\"a\", 'c d']));\n\n\n\nb",
        ),
        ("import {} from 'x'", "await $mport('x');"),
        ("import from from 'x'", "var {default: from} = (await $mport('x', [\"default\"]));"),
        ("import type {A} from 'x'", "import type {A} from 'x'"),
        ("import a 'x'", "import a 'x'"),
        ("import 'x' let a", "import 'x' let a"),
        ("if (1) import 'x'", "if (1) import 'x'"),
        ("export const a = 1", "export const a = 1"),
        ("export default class A {}", "export default class A {}"),
        ("let\nhost = 1", "var\nhost = 1"),
        ("let = 5; let in a; a = let", "let = 5; let in a; a = let"),
        ("do {} while (1) let a = 1", "do {} while (1) var a = 1"),
        ("if (1)\nclass A {}", "if (1)\nclass A {}"),
        ("class A extends class {} {}", "var A = class A extends class {} {};"),
        ("class A extends {B: class {}}.B {}", "var A = class A extends {B: class {}}.B {};"),
        ("class \\u{41}b {}", "var \\u{41}b = class \\u{41}b {};"),
        ("let of = 1; let\nof", "var of = 1; var\nof"),
        ("of\nlet a; yield\nconst b = 1", "of\nvar a; yield\nvar   b = 1"),
        ("a <!-- don't\nlet b", "a <!-- don't\nvar b"),
        ("a = 1\n/* ` */ --> don't\nlet b", "a = 1\n/* ` */ --> don't\nvar b"),
        ("--> `\nlet a; a-->b; '-->'", "--> `\nvar a; a-->b; '-->'"),
        ("do a++; while (a < 3)\nlet b", "do a++; while (a < 3)\nvar b"),
        ("a: {} let b; c:{} class D {}", "a: {} var b; c:{} var D = class D {};"),
        ("a = b ?\n c : {} / 2; let d = '/'", "a = b ?\n c : {} / 2; var d = '/'"),
        ("a.\n  import('x'); a. let\nlet b", "a.\n  import('x'); a. let\nvar b"),
        ("a = 1.\nlet b; [... import('x')]", "a = 1.\nvar b; [... $mport('x')]"),
        ("let a = '", "let a = '"),
        ("let a = `", "let a = `"),
        ("let a = 1 /*", "let a = 1 /*"),
        ("let a = (]", "let a = (]"),
    ],
)
def test_what_is_rewritten(source: str, prepared: str) -> None:
    assert prepare(source) == prepared
