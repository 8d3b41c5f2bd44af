"""No module imports another in a circle, not even for type checking or inside a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from parsed import nodes

#: Modules of the kernel that know a package above it: the kit's other name, and what starts the
#: command line.
_ASIDE = ("interpstack.testing", "interpstack.__main__")


def modules(root: Path) -> dict[str, Path]:
    """Paths of all modules of the project, by name; packages stand for their `__init__`."""
    found = {}
    for folder in ("src", "plugins"):
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Modules of the project that a file imports anywhere."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in known else node.module


def circles(root: Path) -> set[tuple[str, ...]]:
    """Groups of modules that reach each other, each sorted by name."""
    known = modules(root)
    return _circles({name: set(imported(path, known)) - {name} for name, path in known.items()})


def package_circles(root: Path) -> set[tuple[str, ...]]:
    """Groups of libraries and plugins that reach each other; the alias of the kit aside."""
    known = modules(root)
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        package = name.partition(".")[0]
        others = graph.setdefault(package, set())
        if not name.startswith(_ASIDE):
            others |= {other.partition(".")[0] for other in imported(path, known)} - {package}
    return _circles(graph)


def _circles(graph: Mapping[str, set[str]]) -> set[tuple[str, ...]]:
    reached = {name: _reached(name, graph) for name in graph}
    found = set()
    for name in graph:
        group = tuple(sorted(other for other in reached[name] if name in reached[other]))
        if name in group:
            found.add(group)
    return found


def _reached(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    """Modules that a module imports, directly or through others."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found


def test_no_module_is_in_a_circle(root: Path) -> None:
    assert circles(root) == set()


def test_no_package_imports_another_in_a_circle(root: Path) -> None:
    assert package_circles(root) == set()


def test_circles_of_packages_are_noticed(broken: Any) -> None:
    """No module imports another in a circle here, but the two packages do."""
    copy = broken(
        {
            "plugins/interpstack_console/one.py": "import interpstack_skills.two",
            "plugins/interpstack_skills/two.py": "",
            "plugins/interpstack_skills/three.py": "import interpstack_console.four",
            "plugins/interpstack_console/four.py": "",
        }
    )
    assert circles(copy) == set()
    assert package_circles(copy) == {("interpstack_console", "interpstack_skills")}


def test_circles_are_noticed_wherever_the_import_hides(root: Path, broken: Any) -> None:
    typing = "\nif TYPE_CHECKING:\n    from interpstack_console import capture\n"
    copy = broken(
        {
            "plugins/interpstack_console/new.py": f"from typing import TYPE_CHECKING\n{typing}",
            "plugins/interpstack_console/capture.py": lambda text: (
                f"{text}\ndef f():\n    import interpstack_console.new\n"
            ),
        }
    )
    assert circles(copy) - circles(root) == {
        ("interpstack_console.capture", "interpstack_console.new")
    }
