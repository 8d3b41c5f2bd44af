"""Preparing a source costs linear time, counts as the cell's own, and can be stopped."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import Cell, InterpreterStack, Limits
from interpstack_javascript.cells import ENDLESS, Clock, SourceError, ThreadClock, prepared
from interpstack_javascript.parser.parsing import parse


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
    "returns": "return;",
}


def test_a_clock_ends_the_work() -> None:
    clock = Counter(last=5)
    with pytest.raises(TimeoutError):
        prepared("let a;" * 100_000, None, clock)
    assert clock.asked == 5


@pytest.mark.parametrize("shape", ["\\", "return;", "const x;", "({a=1});"])
def test_of_many_faults_the_first_ones_are_taken(shape: str) -> None:
    source = shape * (16_000 // len(shape))
    faults = parse(source, name="cell.ts").faults
    assert len(faults) == 64  # each costs a millisecond
    assert faults[0].message == parse(f"{shape}\n{shape}\n", name="cell.ts").faults[0].message
    with pytest.raises(SourceError, match=re.escape(faults[0].message.removesuffix("."))):
        prepared(source)


@pytest.mark.parametrize("shape", ["=>a++", "=>b", "=>{}"])
def test_functions_that_nest_in_defaults_cost_no_time(shape: str) -> None:
    clock = ThreadClock(None, lambda: False)
    source = "(" + "(a=" * 1500 + "0" + f"){shape}" * 1500 + ")"
    with suppress(SourceError):  # shared, or too deep
        prepared(source, for_quickjs=True)
    assert clock.spent < 10  # minutes, where each was looked through for each around it


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


async def test_preparation_can_be_cancelled() -> None:
    with InterpreterStack(limits=Limits(cpu_seconds=60)) as stack:
        session = stack.session("s")
        task = asyncio.create_task(session.eval("let a = 1;" * 100_000))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await session.eval("let a = 1; a")).text == "1"


IMPORTS = ["import", "{", "}", "a", ",", "*", "as", "from", "'x'", ";", "(", ")", "\n", "with"]


@given(st.lists(st.sampled_from(IMPORTS), max_size=12))
def test_any_pieces_of_imports_are_prepared_or_refused(pieces: list[str]) -> None:
    source = "import " + " ".join(pieces)
    try:
        script = prepared(source, None, ENDLESS)
    except SourceError:
        return
    assert script.source.count("\n") == source.count("\n") + script.awaits


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("try { 3 } finally { 4 }", "3"),
        ("try{3}finally{4}", "3"),
        ("try{throw 1}catch(e){[e,2]}", "[1, 2]"),
        ("try{throw 1}catch{5}finally{6}", "5"),
        ("try{3}finally{if(1){4}}", "3"),
        ("try{3}finally{try{4}catch{}finally{5}}", "3"),
        ("try{throw 1}catch(e){var a=e;a}", "1"),
        ("try{throw 1}catch(e){function f(){}f.name}", "f"),
        ("try { try { 1 } finally { 2 } } finally { 3 }", "1"),
        ("try { 3; throw 1 } catch (e) { 5 } finally { 6 }", "5"),
        ("try { 3; throw 1 } catch {}", "undefined"),
        ("do { 1; try { 39 } finally { 42; break } } while (false)", "42"),
        ("for (const x of [1, 2]) { if (x === 1) 'found' }", "undefined"),
        ("for (const x of [1, 2]) { x * 2; if (x > 5) {} }", "undefined"),
        ("switch (2) { case 2: 'b'; if (false) 1; break; default: 'c' }", "undefined"),
        ("5; loop: for (; false;) {}", "undefined"),
        ("5; block: {}", "5"),
        ("if (true) { 5\nfor (; false;) ; }", "undefined"),
    ],
)
async def test_a_cell_that_awaits_has_the_value_of_a_script(source: str, value: str) -> None:
    with InterpreterStack(engine="quickjs") as stack:
        for text in (f"await null; {source}", f"if (true) {{ await null; {source} }}"):
            outcome = await stack.session("values").eval(text)
            assert (outcome.error, outcome.text) == (None, value)
