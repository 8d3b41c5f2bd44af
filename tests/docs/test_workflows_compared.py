"""Every test that the page on the original names exists, and every row has a test or a reason."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "reference" / "workflows-compared.md").read_text("utf-8")
_TEST = re.compile(r"^`([\w/]+\.py)::(test_\w+)`$")
#: What gives a test a JavaScript engine at a time: its fixtures and parameters.
_ENGINES = {"runtime", "engine"}
#: The parser of metadata is the same, whatever engine runs the workflow.
_ONE_PARSER = "plugins/workflows/module/test_metadata.py"


def rows(section: str) -> list[list[str]]:
    """The rows of the tables in a section, without their heads."""
    text = re.split(r"^## ", PAGE.partition(f"## {section}\n")[2], flags=re.MULTILINE)[0]
    tables = re.findall(r"^\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for table in tables
        for line in table.splitlines()
    ]


@cache
def names_in(path: str) -> dict[str, set[str]]:
    """The tests of a file, with the names of their parameters."""
    tree = ast.parse((TESTS / path).read_text("utf-8"))
    return {
        node.name: {arg.arg for arg in node.args.args}
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


CASES = rows("Cases of the contract")
ORIGINAL = rows("Tests of smol-workflows and their counterparts")


def test_all_cases_are_there() -> None:
    assert [int(case.partition(".")[0]) for case, _ in CASES] == list(range(17, 35))


@pytest.mark.parametrize(("case", "test"), CASES)
def test_a_case_has_a_test_on_each_engine(case: str, test: str) -> None:
    found = _TEST.match(test)
    assert found is not None, test
    path, name = found.groups()
    assert name in names_in(path), test
    assert path == _ONE_PARSER or names_in(path)[name] & _ENGINES, test


def test_the_original_is_there() -> None:
    names = [name for name, _ in ORIGINAL]
    assert len(names) == len(set(names)) == 85


@pytest.mark.parametrize(("name", "counterpart"), ORIGINAL)
def test_a_test_of_the_original_has_a_counterpart_or_a_reason(name: str, counterpart: str) -> None:
    found = _TEST.match(counterpart)
    if found is None:
        assert "::" not in counterpart, counterpart
        assert len(counterpart.split()) >= 4, f"{name} needs a reason"
    else:
        assert found[2] in names_in(found[1]), counterpart


def test_every_row_of_a_comparison_says_how_it_is() -> None:
    compared = PAGE.partition("## Complaints")[0]
    found = re.findall(r"^\| (?!Point|-)(.+?) \| (.+) \|$", compared, re.MULTILINE)
    assert len(found) > 50
    wrong = [point for point, said in found if not re.match(r"(same|different|better)\b", said)]
    assert wrong == []
