"""Each module has its file of tests at the mirrored place, and each such file its module.

Tests of several modules together are in a folder `integration`. Modules without functions of their
own need no tests, and the conformance kit needs none here: its tests are in `tests/conformance`,
and what it notices is in `tests/libs/testing/conformance`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from parsed import nodes_of

#: Folders of tests of packages that are no libraries.
_NAMED = {"interpstack": "runtime", "interpstack_core": "core"}
_KIT = ("src/interpstack_testing/conformance/", "src/interpstack_testing/guests/")


def modules(root: Path) -> Iterator[str]:
    """Paths of all modules, without those that stand for a folder."""
    for base in ("src", "plugins"):
        for path in sorted((root / base).rglob("*.py")):
            shown = path.relative_to(root).as_posix()
            if not {"__pycache__", "node_modules"} & set(path.parts) and "/__" not in shown:
                yield shown


def place(module: str) -> str:
    """Where the tests of a module are."""
    base, package, *folders, name = module.split("/")
    if base == "plugins":
        start = f"tests/plugins/{package.removeprefix('interpstack_')}"
    elif package in _NAMED:
        start = f"tests/{_NAMED[package]}"
    else:
        start = f"tests/libs/{package.removeprefix('interpstack_')}"
    return "/".join([start, *folders, f"test_{name}"])


def behaves(source: str) -> bool:
    """Whether a module has functions that do something."""
    found = nodes_of(source)
    functions = [one for one in found if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return any(not _declares(statement) for one in functions for statement in one.body)


def _declares(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, or says that somebody else does it."""
    if isinstance(statement, ast.Raise):
        return "NotImplementedError" in ast.unparse(statement)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def needs_tests(root: Path, module: str) -> bool:
    kit = module.startswith(_KIT) or module.endswith("/conformance.py")
    return not kit and behaves((root / module).read_text("utf-8"))


def test_each_module_has_its_tests(root: Path) -> None:
    missing = [
        place(module)
        for module in modules(root)
        if needs_tests(root, module) and not (root / place(module)).exists()
    ]
    assert missing == [], "write these, or move them along with their modules"


def has_tests(source: str) -> bool:
    """Whether a file defines a test, or a class that inherits tests."""
    return any(
        (isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.name.startswith("test_"))
        or (isinstance(one, ast.ClassDef) and one.name.startswith("Test"))
        for one in nodes_of(source)
    )


def test_each_file_of_tests_tests_something(root: Path) -> None:
    files = [root / place(module) for module in modules(root)]
    empty = [one for one in files if one.exists() and not has_tests(one.read_text("utf-8"))]
    assert [one.relative_to(root).as_posix() for one in empty] == []


def test_each_file_of_tests_has_its_module(root: Path) -> None:
    places = {place(module) for module in modules(root)}
    files = {
        path.relative_to(root).as_posix()
        for folder in ("core", "libs", "plugins")
        for path in (root / "tests" / folder).rglob("test_*.py")
        if "integration" not in path.parts
    }
    assert sorted(files - places) == [], "put tests of several modules into a folder integration"


@pytest.mark.parametrize(
    ("module", "tests"),
    [
        ("src/interpstack/cells/loop.py", "tests/runtime/cells/test_loop.py"),
        ("src/interpstack_core/cells/raised.py", "tests/core/cells/test_raised.py"),
        ("src/interpstack_wasm/host.py", "tests/libs/wasm/test_host.py"),
        ("plugins/interpstack_v8/a/b.py", "tests/plugins/v8/a/test_b.py"),
    ],
)
def test_places_are_mirrored(module: str, tests: str) -> None:
    assert place(module) == tests


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("A = 1", False),
        ("def f():\n    'Doc.'", False),
        (
            "class P:\n    def f(self):\n        '''Doc.'''\n        raise NotImplementedError",
            False,
        ),
        ("class P:\n    def f(self):\n        return 1", True),
    ],
)
def test_modules_that_only_declare_need_no_tests(source: str, expected: bool) -> None:
    assert behaves(source) is expected
