"""Preparing a source costs linear time, counts as the cell's own, and can be stopped."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import Cell, InterpreterStack, Limits
from interpstack_javascript.cells import ENDLESS, Clock, SourceError, prepared


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


def test_a_clock_ends_the_work() -> None:
    clock = Counter(last=5)
    with pytest.raises(TimeoutError):
        prepared("let a;" * 100_000, None, clock)
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
