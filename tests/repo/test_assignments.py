"""Objects change their own attributes only; others ask them to, by a method."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from parsed import tree_of

_OWN = frozenset({"self", "cls"})

#: Assignments to other objects' attributes that are still there, at most, by package. The numbers
#: may only fall, and a package without any has no place here.
_KNOWN: dict[str, int] = {}

#: Attributes that have no method, of objects that are not of this project: their documentation says
#: to set them. Functions carry marks for those who collect them.
_OFFERED = frozenset(
    {
        "frame.f_trace_opcodes",
        "function.__annotations__",
        "function.__signature__",
        "function.area",
        "function.kit",
        "replacement.area",
        "replacement.kit",
        "response.stream",
        "saver.serde",
        "self.context.protocol_version",
        "self.process.returncode",
        "warnings.showwarning",
        "weakref.finalize(self, _leave, self._place).atexit",
    }
)

#: Functions that return a new object, beside classes, whose names begin with a capital.
_MAKING = frozenset({"cls", "copy", "evolve", "model_copy"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def assignments(root: Path) -> Iterator[tuple[str, int, str]]:
    """Assignments to attributes of other objects: module, line and target."""
    for folder in ("src", "plugins"):
        base = root / folder
        for path in sorted(base.rglob("*.py")):
            place = path.relative_to(base).as_posix()
            for line, target in _all_foreign(path.read_text("utf-8")):
                if target not in _OFFERED:
                    yield place, line, target


def unneeded(root: Path) -> set[str]:
    """Attributes of other objects that nothing sets."""
    found = set()
    for folder in ("src", "plugins"):
        for path in (root / folder).rglob("*.py"):
            found |= {target for _, target in _all_foreign(path.read_text("utf-8"))}
    return set(_OFFERED - found)


@cache
def _all_foreign(source: str) -> list[tuple[int, str]]:
    return list(_foreign(tree_of(source), frozenset()))


def _foreign(scope: ast.AST, outer: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Assignments in a scope, but for those to what it has just made."""
    made = outer | _made(scope)
    for node in _inside(scope):
        if isinstance(node, _Function | ast.ClassDef | ast.Lambda):
            yield from _foreign(node, made)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            owner = node.value
            if not isinstance(owner, ast.Name) or owner.id not in _OWN | made:
                yield node.lineno, ast.unparse(node)


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a scope, inner scopes as one node each."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, _Function | ast.ClassDef | ast.Lambda):
            yield from _inside(node)


def _made(scope: ast.AST) -> frozenset[str]:
    """Names that a scope gives to an object that it has just made, a class or a function."""
    names = set()
    for node in _inside(scope):
        if isinstance(node, _Function | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign) and _makes(node.value):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(names)


def _makes(value: ast.expr) -> bool:
    """Whether a value is a new object: a class is called, or something is copied."""
    if not isinstance(value, ast.Call):
        return False
    name = ast.unparse(value.func).rpartition(".")[2].partition("[")[0]
    return name in _MAKING or name.lstrip("_")[:1].isupper()


def violations(root: Path) -> list[str]:
    """Assignments in packages that have more of them than are known, or are known to have none."""
    found = list(assignments(root))
    counts = Counter(_package(place) for place, _, _ in found)
    wrong = [
        f"{place}:{line}: {target}"
        for place, line, target in found
        if counts[_package(place)] > _KNOWN.get(_package(place), 0)
    ]
    gone = [name for name in _KNOWN if not counts[name]]
    return wrong + [f"{name}: the exception is no longer needed" for name in gone]


def _package(place: str) -> str:
    return place.partition("/")[0]


def test_objects_change_their_own_attributes_only(root: Path) -> None:
    assert violations(root) == []


def test_every_offered_attribute_is_set_somewhere(root: Path) -> None:
    assert unneeded(root) == set()


@pytest.mark.parametrize(
    ("code", "noticed"),
    [
        ("class A:\n    def f(self):\n        self.x = 1", False),
        ("class A:\n    def f(self):\n        self.other.x = 1", True),
        ("class A:\n    def f(self):\n        self.other.x += 1", True),
        ("class A:\n    def f(self):\n        del self.other.x", True),
        ("def f(other):\n    other.x = 1", True),
        ("def f(other):\n    a, other.x = 1, 2", True),
        ("def f(others):\n    for others.x in others:\n        pass", True),
        ("def f():\n    new = A()\n    new.x = 1", False),
        ("def f():\n    new = made.pop()\n    new.x = 1", True),
        ("def f(old):\n    new = old.model_copy()\n    new.x = 1", False),
        ("def f(new):\n    with new as new.x:\n        pass", True),
        ("def f():\n    def g(other):\n        other.x = 1", True),
        ("def f():\n    def g():\n        pass\n    g.x = 1", False),
    ],
)
def test_assignments_to_others_are_noticed(tmp_path: Path, code: str, noticed: bool) -> None:
    module = tmp_path / "src" / "interpstack" / "odd.py"
    module.parent.mkdir(parents=True)
    module.write_text(code)
    assert bool(list(assignments(tmp_path))) == noticed


def test_an_exception_that_is_no_longer_needed_is_noticed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_KNOWN, "interpstack_gone", 1)
    assert violations(root) == ["interpstack_gone: the exception is no longer needed"]
