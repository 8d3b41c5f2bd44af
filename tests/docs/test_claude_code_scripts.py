"""Every row of the page on scripts for Claude Code has a test, and every test of rows has a row."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1] / "plugins" / "workflows" / "dialect"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "claude-code-scripts.md"
_ROW = re.compile(r"^\|(?! ?There |-)(.*)\|$", re.MULTILINE)
_TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def rows() -> list[tuple[str, str, list[tuple[str, str]]]]:
    """The rows: what there is, what is here, and their tests."""
    found = []
    for line in _ROW.findall(PAGE.read_text("utf-8")):
        there, here, tests = line.split(" | ")
        found.append((there.strip(), here.strip(), _TEST.findall(tests)))
    return found


def functions_of(path: str) -> set[str]:
    tree = ast.parse((TESTS / path).read_text("utf-8"))
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


@pytest.mark.parametrize(("there", "here", "tests"), rows())
def test_a_row_has_a_test_and_a_difference_a_reason(
    there: str, here: str, tests: list[tuple[str, str]]
) -> None:
    assert tests
    for path, name in tests:
        assert name in functions_of(path)
    assert not there or here.startswith(("same", "different: ", "refused "))


def test_every_test_of_a_row_has_its_row() -> None:
    named = {name for _, _, tests in rows() for path, name in tests if path == "test_parity.py"}
    assert named == functions_of("test_parity.py")
