"""No module outside a guest language's own packages knows the language by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from parsed import nodes

#: Names of the languages that the project brings.
_NAMES = {"javascript", "python", "typescript"}
#: Packages of languages and their engines, and the kit's samples.
_OWN = (
    "plugins/interpstack_monty/",
    "plugins/interpstack_node/",
    "plugins/interpstack_quickjs/",
    "plugins/interpstack_v8/",
    "src/interpstack_javascript/",
    "src/interpstack_python/",
    "src/interpstack_testing/guests/",
)
#: Attributes of engine classes that say what the engine runs.
_DECLARED = {"dialects", "language"}
#: Texts that are no language: the name of a check of the host's own Python.
_OTHER = {("plugins/interpstack_cli/installed/checks.py", "python")}


@attrs.frozen
class Found:
    """One constant with the name of a language."""

    place: str
    line: int
    name: str


def language_violations(root: Path) -> list[str]:
    """Constants with the name of a language: in comparisons, in keys of tables, as defaults."""
    found = []
    for folder in ("src", "plugins"):
        for path in sorted((root / folder).rglob("*.py")):
            place = path.relative_to(root).as_posix()
            if place.startswith(_OWN):
                continue
            for item in _constants(place, path):
                if (place, item.name) not in _OTHER:
                    found.append(f"{place}:{item.line}: names {item.name}; ask the GuestLanguage")
    return found


def _constants(place: str, path: Path) -> Iterator[Found]:
    declared = set(_declarations(path))
    for node in nodes(path):
        if isinstance(node, ast.Constant) and id(node) not in declared and node.value in _NAMES:
            yield Found(place, node.lineno, str(node.value))


def _declarations(path: Path) -> Iterator[int]:
    """Constants that an engine class assigns to `language` or `dialects`."""
    classes = (node for node in nodes(path) if isinstance(node, ast.ClassDef))
    for statement in (statement for cls in classes for statement in cls.body):
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target = getattr(statement.target, "id", "")
            if target in _DECLARED:
                yield from (id(node) for node in ast.walk(statement.value))


def test_no_module_compares_with_the_name_of_a_language(root: Path) -> None:
    assert language_violations(root) == []


@pytest.mark.parametrize(
    ("file", "line", "name"),
    [
        ("plugins/interpstack_ptc/names.py", "def f(x): return x == 'python'", "python"),
        ("plugins/interpstack_console/__init__.py", "T = {'javascript': 1}", "javascript"),
        ("plugins/interpstack_skills/loader.py", "def f(x='typescript'): ...", "typescript"),
        ("plugins/interpstack_cli/languages.py", "X = 'a' in ('javascript',)", "javascript"),
        ("src/interpstack/stack.py", "match x:\n    case 'python': ...", "python"),
        ("src/interpstack_testing/fake.py", "language = 'python'", "python"),
    ],
)
def test_the_guard_notices(broken: Any, file: str, line: str, name: str) -> None:
    copy = broken({file: lambda text: f"{text}\n{line}\n"})
    (found,) = language_violations(copy)
    assert found.startswith(f"{file}:")
    assert found.endswith(f": names {name}; ask the GuestLanguage")
