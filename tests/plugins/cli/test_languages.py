"""Languages by the names that people type, and by files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interpstack import InterpreterStack
from interpstack_cli.languages import language_named, language_of_file


@pytest.fixture
def stack() -> Iterator[InterpreterStack]:
    with InterpreterStack("quickjs") as made:
        yield made


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("javascript", "javascript"),
        ("js", "javascript"),
        ("typescript", "typescript"),
        ("ts", "typescript"),
        ("py", "python"),  # of another engine: the refusal names it
        ("JS", "javascript"),
        ("TypeScript", "typescript"),
        ("cobol", "cobol"),
        ("", ""),
    ],
)
def test_names_and_aliases(stack: InterpreterStack, typed: str, name: str) -> None:
    assert language_named(typed, stack) == name


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a.js", "javascript"),
        ("folder.py/a.MJS", "javascript"),
        ("a.b.TS", "typescript"),
        ("a.py", "python"),
    ],
)
def test_endings(stack: InterpreterStack, file: str, name: str) -> None:
    assert language_of_file(Path(file), stack) == name


@pytest.mark.parametrize("file", ["a.txt", "js", ".js", "a."])
def test_other_files_get_the_known_endings_each_once(stack: InterpreterStack, file: str) -> None:
    known = language_of_file(Path(file), stack)
    assert isinstance(known, tuple)
    assert known[0] == ".js"
    assert {".ts", ".py"} <= set(known)
    assert len(known) == len(set(known))
