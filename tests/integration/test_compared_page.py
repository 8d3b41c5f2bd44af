"""The comparison page names tests that exist, for every row."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "reference" / "compared.md").read_text("utf-8")
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)
ROWS = {
    int(number): rest for number, rest in re.findall(r"^\| (\d+) \|(.*)$", PAGE, flags=re.MULTILINE)
}


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in tree.body if isinstance(node, kinds)}


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED}))
def test_every_named_test_exists(file: str) -> None:
    named = {name for other, name in NAMED if other == file}
    assert all(name.startswith("test_") for name in named)
    assert named <= functions(TESTS / file)


def test_every_row_names_a_test_of_its_own() -> None:
    assert list(ROWS) == list(range(1, 21))
    for number, rest in ROWS.items():
        assert f"::test_row_{number:02}_" in rest, number


def test_every_area_names_a_test() -> None:
    rows = PAGE.split("## Features")[1].split("## Failures of langchain-quickjs")[0].splitlines()
    areas = [row for row in rows if row.startswith("| ")][1:]
    assert len(areas) == 18
    assert all(".py::test_" in row for row in areas)


@pytest.mark.parametrize(
    "path", sorted(TESTS.glob("integration/test_parity_*.py")), ids=lambda path: path.stem
)
def test_every_parity_test_is_on_the_page(path: Path) -> None:
    tests = {name for name in functions(path) if name.startswith("test_")}
    file = path.relative_to(TESTS).as_posix()
    assert tests == {name for other, name in NAMED if other == file}
