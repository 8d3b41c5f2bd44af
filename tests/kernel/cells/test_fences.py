"""A fence of Markdown around a cell: what is removed, what is left alone, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import Cell, GuestError, GuestLanguage, InterpreterStack
from interpstack.cells.fences import unfenced
from interpstack_testing import FakeEngine

_LOUD = GuestLanguage(
    name="loud",
    title="Loud",
    aliases=("ld",),
    endings=(".loud",),
    fences=("shout",),
    dialects=(GuestLanguage(name="quiet", endings=(".qt",)),),
)


def _bare(source: str, language: str | None = None, languages: tuple[str, ...] = ()) -> Cell:
    cell = Cell(source=source, language=language, name="mine", seed=7)
    made = unfenced(cell, _LOUD, languages or ("loud", "quiet"))
    assert isinstance(made, Cell), made
    assert (made.name, made.seed) == ("mine", 7)
    return made


@pytest.mark.parametrize(
    ("source", "bare"),
    [
        ("```\na\n```", "\na\n"),
        ("```loud\na\nb\n```", "\na\nb\n"),
        ("\n\t\n```Loud\na\n```\n\n", "\n\t\n\na\n\n\n"),
        ("``` ld \r\na\r\n``` \r\n", "\r\na\r\n \r\n"),
        ("~~~shout\r a\r~~~~", "\r a\r"),
        ("  ```loud\na\n```", "\na\n"),
        ("  ```loud\n  a\n    b\n c\n  ```", "\na\n  b\nc\n"),
        ("```loud\n```", "\n"),
        ("````loud\n```\na\n```\n````", "\n```\na\n```\n"),
        ("```loud\n```\n\n```", "\n```\n\n"),
        ("```text\na\n```", "\na\n"),
    ],
)
def test_the_lines_of_a_fence_become_blank(source: str, bare: str) -> None:
    made = _bare(source)
    assert (made.source, made.language) == (bare, None)


@pytest.mark.parametrize(
    "source",
    [
        *(
            "",
            "a",
            "```",
            "``\na\n``",
            "a\n```\nb\n```",
            "```a\n",
            "~~~\na",
            "```\na",
            "```\na\n``",
        ),
        *("```a b\nc\n```", "`` `\na\n```", "```\na\n~~~", "~~~loud\na\n~~", "```loud", "```x```"),
    ],
)
def test_what_is_no_fence_stays(source: str) -> None:
    cell = Cell(source=source)
    made = unfenced(cell, _LOUD, ["loud"])
    assert made is cell or (isinstance(made, GuestError) and source == "```a\n")


def test_a_fence_of_a_dialect_makes_a_cell_of_it() -> None:
    for word in ("quiet", "QUIET", "qt"):
        assert _bare(f"```{word}\na\n```").language == "quiet"
    assert _bare("```quiet\na\n```", "loud").language == "loud"
    made = unfenced(Cell(source="```quiet\na\n```"), _LOUD, ["loud"])
    assert isinstance(made, GuestError), "the engine does not run it"


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        ("```json\n{}\n```", "the code is fenced as json, and cells are Loud: write it in Loud", 1),
        ("\n~~~C++\n{}\n~~~", "the code is fenced as C++, and cells are Loud: write it in Loud", 2),
        ("```loud\na", "the fence of Markdown has no end: send the code alone", 1),
        ("```loud\na\n``", "the fence of Markdown has no end: send the code alone", 1),
        (
            "```loud\na\n```\nSo.",
            "text stands behind the fence of Markdown: send the code alone",
            1,
        ),
    ],
)
def test_a_fence_that_cannot_be_removed_is_an_error(source: str, message: str, line: int) -> None:
    made = unfenced(Cell(source=source), _LOUD, ["loud", "quiet"])
    assert isinstance(made, GuestError)
    assert (made.name, made.message) == ("SyntaxError", message)
    assert made.place is not None
    assert made.place.line == line


@given(st.text(alphabet="`~ab \t\n\r+.", max_size=40))
def test_any_text_is_left_or_loses_its_fence_alone(source: str) -> None:
    made = unfenced(Cell(source=source), _LOUD, ["loud"])
    if isinstance(made, Cell) and made.source != source:
        assert source.strip(" \t\r\n").startswith(("```", "~~~"))
        assert made.source.count("\n") == source.count("\n")
        assert made.source.count("\r") == source.count("\r")


async def test_a_refused_fence_runs_nothing_and_harms_no_session() -> None:
    with InterpreterStack(FakeEngine()) as stack:
        async with stack.session() as session:
            await session.eval("kept = 41")
            outcome = await session.eval("```json\n{}\n```")
            assert outcome.error is not None
            assert (outcome.stopped, outcome.state) == (False, "kept")
            assert (await session.eval("```\nkept + 1\n```")).text == "42"
