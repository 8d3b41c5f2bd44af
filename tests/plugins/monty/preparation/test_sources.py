"""Tests of interpstack_monty.preparation.sources: what runs, or why it does not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from interpstack import Cell, GuestError, Limits
from interpstack_monty.preparation import sources
from interpstack_monty.preparation.sources import prepared_source
from interpstack_monty.preparation.timeouts import ScanDeadline, ScanTimeout


def _prepared(source: str, *, stopped: bool = False, type_check: bool = False) -> Any:
    state: Any = SimpleNamespace(limits=Limits(), type_check=type_check)
    cell = Cell(source=source, name="cell 3")
    return prepared_source(cell, state, ScanDeadline(None, lambda: stopped))


def test_a_source_is_prepared() -> None:
    prepared = _prepared("a = 1\na + 1")
    assert isinstance(prepared, str)
    assert prepared.startswith("a = 1\n")


@pytest.mark.parametrize(
    "source",
    [
        "__interpstack_emit__('x')",
        "# __interpstack_",
        "'__interpstack_'",
        "__\uff49nterpstack_show__ = 1",
        "a = 1; _\uff3finterp\ufb06ack\ufe4dshow__ = 1",
        "__interpst\U0001d41ack_show__ = 1",
    ],
)
def test_names_of_the_kernel_are_reserved_everywhere(source: str) -> None:
    refused = _prepared(source)
    assert refused == GuestError("NameError", "names that begin with '__interpstack_' are reserved")


@pytest.mark.parametrize(
    "source", ["__\uff49nter = 1", "\uff3f" * 100, "'é'; __inter, pstack_ = 1, 2"]
)
def test_other_names_are_free(source: str) -> None:
    assert isinstance(_prepared(source), str)


def test_a_refused_source_names_cell_and_line() -> None:
    refused = _prepared("a = 1\nreturn a")
    assert isinstance(refused, GuestError)
    assert (refused.name, refused.stack) == ("SyntaxError", "  at cell 3:2 in <module>")


HALVES = [
    "'a\ud800b'",
    r"'\ud800'",
    r'"""a' + "\n" + r'\uDFFF"""',
    r"x = 'a' '\U0000d83d'",
    r"f'{1}\ud800'",
    r"f'{x['\ud800']}'",
    r"'\\\ud800'",
    r"'\ud83d\ude00'",
    r"# '\ud800" + "\n" + r"'\ud800'",
]
WHOLE = [
    r"r'\ud800'",
    r"b'\ud800'",
    r"rb'\ud800'",
    r"'\\ud800'",
    r"1  # '\ud800'",
    "'\N{BULLET}\U0001f600'",
    r"'\u0d80' '\ue000'",
    r"'it\'s' + r'\ud800'",
]


@pytest.mark.parametrize("source", HALVES)
def test_a_half_of_a_surrogate_pair_is_refused_with_its_line(source: str) -> None:
    refused = _prepared(source)
    assert isinstance(refused, GuestError)
    assert refused.name == "SyntaxError"
    assert "is half of a surrogate pair, which no string of Monty can hold" in refused.message
    assert f"cell 3:{1 + source.count(chr(10))} " in refused.stack


@pytest.mark.parametrize("source", WHOLE)
def test_the_letters_of_an_escape_alone_are_not_a_half(source: str) -> None:
    assert isinstance(_prepared(source), str)


def test_types_are_checked_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = GuestError("TypeError", "no such argument")
    seen: list[tuple[str, str]] = []

    def check(state: Any, source: str, name: str) -> GuestError | None:
        seen.append((source, name))
        return wrong if "bad" in source else None

    monkeypatch.setattr(sources, "check", check)
    assert isinstance(_prepared("bad"), str)
    assert seen == []
    assert _prepared("bad", type_check=True) is wrong
    assert isinstance(_prepared("good", type_check=True), str)
    assert seen == [("bad", "cell 3"), ("good", "cell 3")]


def test_a_stopped_cell_is_not_prepared() -> None:
    with pytest.raises(ScanTimeout):
        _prepared("a = 1\n" * 10_000, stopped=True)
