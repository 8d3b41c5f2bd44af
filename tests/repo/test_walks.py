"""The walks of the architecture page name functions that exist, in few modules."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from parsed import tree_of
from walks import walks

#: Modules to read at most, to know how a call is paused.
PAUSE_MODULES = 6


def names(source: str) -> set[str]:
    """Functions of a module, and those of its classes."""
    found = set[str]()
    for node in tree_of(source).body:
        if isinstance(node, ast.ClassDef):
            inner = [one for one in node.body if isinstance(one, _FUNCTIONS)]
            found |= {node.name, *(f"{node.name}.{one.name}" for one in inner)}
        elif isinstance(node, _FUNCTIONS):
            found.add(node.name)
    return found


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.parametrize(
    "walk",
    [
        "The walk of a cell",
        "The walk of a call",
        "The walk of a pause",
        "The walk of a workflow",
    ],
)
def test_functions_of_a_walk_exist(root: Path, walk: str) -> None:
    rows = walks(root)[walk]
    assert len(rows) >= PAUSE_MODULES
    for function, path in rows:
        modules = [base / path for base in (root / "src", root / "plugins")]
        (module,) = [module for module in modules if module.exists()] or pytest.fail(path)
        assert function in names(module.read_text()), f"{function} is not in {path}"


def test_a_pause_is_read_in_few_modules(root: Path) -> None:
    assert len({path for _, path in walks(root)["The walk of a pause"]}) <= PAUSE_MODULES


def test_functions_are_found_where_they_are() -> None:
    source = "class A:\n    async def b(self): ...\ndef c(): ...\nx = lambda: 0"
    assert names(source) == {"A", "A.b", "c"}
