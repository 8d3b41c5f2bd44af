"""How large classes, functions and folders may be, and how many parameters there may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parsed import tree

_CLASS_LINES = 250
_FUNCTION_LINES = 45
_PARAMETERS = 8
_MODULES = 12

#: What is still larger, and how large it may be at most, in lines rounded up to tens. The list may
#: only shrink: an exception that is no longer needed fails the test, as does one that has grown.
_KNOWN: dict[str, int] = {}


def sizes(root: Path) -> Iterator[tuple[str, int, int]]:
    """Everything that has a limit: what it is, its size, and the limit."""
    for folder in ("src", "plugins"):
        base = root / folder
        for path in sorted(base.rglob("*.py")):
            place = path.relative_to(base).as_posix()
            for name, node in _definitions(tree(path)):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if isinstance(node, ast.ClassDef):
                    yield f"class {name} in {place}", lines, _CLASS_LINES
                    continue
                yield f"function {name} in {place}", lines, _FUNCTION_LINES
                yield f"parameters of {name} in {place}", _parameters(node), _PARAMETERS
        for inner in sorted({path.parent for path in base.rglob("*.py")}):
            count = sum(not path.name.startswith("__") for path in inner.glob("*.py"))
            yield f"modules in {inner.relative_to(base).as_posix()}", count, _MODULES


_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _definitions(scope: ast.AST, outer: str = "") -> Iterator[tuple[str, _Definition]]:
    """Classes and functions with their qualified names."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, _Definition):
            name = f"{outer}{node.name}"
            yield name, node
            yield from _definitions(node, f"{name}.")
        else:
            yield from _definitions(node, outer)


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Parameters, without `self` and `cls`, and without the keyword options of a public face."""
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    own = len(names) - (names[:1] in (["self"], ["cls"]))
    return own if _is_face(node) else own + len(node.args.kwonlyargs)


def _is_face(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether users write the options of a function: those of a class, or of a command."""
    commands = any(ast.unparse(one).startswith("click.") for one in node.decorator_list)
    return node.name == "__init__" or commands


def size_violations(root: Path) -> list[str]:
    """What is too large, and exceptions that are no longer needed."""
    found = []
    needed = set()
    for what, size, limit in sizes(root):
        if size > limit:
            needed.add(what)
        most = _KNOWN.get(what, limit)
        if size > max(most, limit):
            found.append(f"{what}: {size}, at most {max(most, limit)}")
    unneeded = sorted(_KNOWN.keys() - needed)
    return found + [f"{what}: the exception is no longer needed" for what in unneeded]


def test_nothing_is_too_large(root: Path) -> None:
    assert size_violations(root) == []


def test_the_size_guard_notices(root: Path, broken: Any) -> None:
    lines = "    x = 1\n"
    names = ", ".join("abcdefghi")
    made = (
        f"class Long:\n{lines * 250}\n\ndef long():\n{lines * 45}\n\n"
        f"class Short:\n    def many(self, {names}): ...\n    def more(self, *, {names}): ...\n"
        f"    def __init__(self, *, {names}): ...\n"
    )
    changes: dict[str, Any] = {f"plugins/interpstack_new/{n}.py": "" for n in "abcdefghijklm"}
    changes["plugins/interpstack_new/a.py"] = made
    already = size_violations(root)
    assert [one for one in size_violations(broken(changes)) if one not in already] == [
        "class Long in interpstack_new/a.py: 251, at most 250",
        "function long in interpstack_new/a.py: 46, at most 45",
        "parameters of Short.many in interpstack_new/a.py: 9, at most 8",
        "parameters of Short.more in interpstack_new/a.py: 9, at most 8",
        "modules in interpstack_new: 13, at most 12",
    ]


def test_an_exception_that_is_no_longer_needed_is_noticed(root: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(_KNOWN, "class Gone in interpstack/gone.py", 300)
    assert size_violations(root) == [
        "class Gone in interpstack/gone.py: the exception is no longer needed"
    ]
