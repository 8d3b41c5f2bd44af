"""Who may import what: read from the source, so that no import can hide in a function."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

#: What the core may import beside the standard library.
_CORE = {"attr", "attrs", "pluggy", "interpstack"}
#: Submodules of the core that plugins may use beside the names of `interpstack` itself.
_PUBLIC_MODULES = ("interpstack.guests.javascript", "interpstack.testing")
#: What the kit's test classes may import as well; they are imported only by test modules.
_TESTING = {"hypothesis", "pytest"}
#: What prepares sources for JavaScript engines may import; the core never loads it.
_JAVASCRIPT = {"quickjs_rs", "wasmtime"}
_FRAMEWORKS = ("langchain", "langgraph", "deepagents")


@attrs.frozen
class Import:
    """One import: `from module import names`, or `import module` with no names."""

    place: str
    module: str
    names: tuple[str, ...]

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]


def imports(root: Path, path: Path) -> Iterator[Import]:
    """All imports of a file, those by `import_module("…")` too."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        place = f"{path.relative_to(root).as_posix()}:{line}"
        for module, names in _imported(node):
            yield Import(place, module, names)


def _imported(node: ast.AST) -> Iterator[tuple[str, tuple[str, ...]]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, ()) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield "." * node.level + (node.module or ""), tuple(alias.name for alias in node.names)
    elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        if name in ("import_module", "__import__", "find_spec"):
            yield str(node.args[0].value), ()


def core_files(root: Path) -> Iterator[Path]:
    base = root / "src" / "interpstack"
    for path in sorted(base.rglob("*.py")):
        if "cli" not in path.relative_to(base).parts and path.name not in ("cli.py", "__main__.py"):
            yield path


def core_violations(root: Path) -> list[str]:
    """Imports of the core beyond the standard library, attrs and pluggy."""
    found = []
    for path in core_files(root):
        place = path.relative_to(root / "src/interpstack").as_posix()
        kit = place.startswith("testing/conformance/") or place == "testing/recorder.py"
        javascript = place.startswith("guests/javascript/") and path.name != "__init__.py"
        for item in imports(root, path):
            allowed = item.package in sys.stdlib_module_names or item.package in _CORE
            allowed = allowed or (kit and item.package in _TESTING)
            allowed = allowed or (javascript and item.package in _JAVASCRIPT)
            cli = item.module.startswith("interpstack.cli") or "cli" in item.names
            if not allowed or (cli and item.package == "interpstack"):
                found.append(f"{item.place}: the core imports {item.module or 'relatively'}")
    return found


def public_names(root: Path) -> set[str]:
    tree = ast.parse((root / "src/interpstack/__init__.py").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    raise AssertionError("interpstack has no __all__")


def plugin_violations(root: Path) -> list[str]:
    """Imports of plugins that reach into the core, into each other or into a framework."""
    public, found = public_names(root), []
    for path in sorted((root / "plugins").rglob("*.py")):
        own = path.relative_to(root / "plugins").parts[0]
        for item in imports(root, path):
            problem = _plugin_problem(item, own, public)
            if problem:
                found.append(f"{item.place}: {problem}")
        for line, name in _attributes(path):
            if name not in public:
                place = f"{path.relative_to(root).as_posix()}:{line}"
                found.append(f"{place}: uses {name}, not in interpstack.__all__")
    return found


def _attributes(path: Path) -> Iterator[tuple[int, str]]:
    """What is taken from the package `interpstack` by attribute, as in `interpstack.Cell`."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            continue
        dunder = node.attr.startswith("__") and node.attr.endswith("__")
        if node.value.id == "interpstack" and not dunder:
            yield node.lineno, node.attr


def _plugin_problem(item: Import, own: str, public: set[str]) -> str:
    if item.module.startswith("."):
        return "a relative import; write the whole name"
    if item.package.startswith("interpstack_") and item.package != own:
        return f"imports another plugin, {item.package}"
    if item.package.startswith(_FRAMEWORKS) and own != "interpstack_langchain":
        return f"imports {item.package}, which only interpstack_langchain may"
    if item.package != "interpstack":
        return ""
    if item.module != "interpstack":
        shared = item.module.startswith("interpstack.guests.javascript.")
        public_module = shared or item.module in _PUBLIC_MODULES
        return "" if public_module else f"imports {item.module}, which is private"
    hidden = sorted(set(item.names) - public)
    return f"imports {', '.join(hidden)}, not in interpstack.__all__" if hidden else ""


def test_the_core_imports_nothing_but_attrs_and_pluggy(root: Path) -> None:
    assert core_violations(root) == []


def test_plugins_use_public_names_and_know_no_other_plugin(root: Path) -> None:
    assert plugin_violations(root) == []


@pytest.mark.parametrize(
    ("name", "line", "violation"),
    [
        ("cells/loop.py", "import click", "imports click"),
        ("cells/loop.py", "def f():\n    import wasmtime", "imports wasmtime"),
        ("render.py", "from interpstack_quickjs.engine import X", "imports interpstack_quickjs"),
        ("render.py", "from interpstack.cli import main", "imports interpstack.cli"),
        ("guests/__init__.py", "import_module('rich')", "imports rich"),
        ("testing/fake.py", "import pytest", "imports pytest"),
        ("testing/__init__.py", "def f():\n    import pytest", "imports pytest"),
        ("testing/conformance/kit.py", "import rich", "imports rich"),
        ("guests/javascript/__init__.py", "import wasmtime", "imports wasmtime"),
        ("guests/javascript/rewrite.py", "import jsrun", "imports jsrun"),
    ],
)
def test_the_core_guard_notices(broken: Any, name: str, line: str, violation: str) -> None:
    file = f"src/interpstack/{name}"
    copy = broken({file: lambda text: f"{text}\n{line}\n"})
    (found,) = core_violations(copy)
    assert found.startswith(file)
    assert violation in found


@pytest.mark.parametrize(
    ("plugin", "line", "violation"),
    [
        (
            "console",
            "from interpstack.cells.loop import run_cell",
            "interpstack.cells.loop, which is private",
        ),
        ("console", "import interpstack.values", "interpstack.values, which is private"),
        ("console", "from interpstack import run_cell", "run_cell, not in interpstack.__all__"),
        ("console", "import interpstack\nX = interpstack.cells", "uses cells, not in"),
        ("ptc", "def f():\n    from interpstack_quickjs import engine", "another plugin"),
        ("ptc", "import_module('interpstack_console')", "another plugin"),
        (
            "quickjs",
            "from langchain_core.tools import BaseTool",
            "which only interpstack_langchain",
        ),
        ("quickjs", "import langgraph.graph", "which only interpstack_langchain"),
        ("subagents", "import deepagents", "which only interpstack_langchain"),
        ("subagents", "from . import prompt", "a relative import"),
    ],
)
def test_the_plugin_guard_notices(broken: Any, plugin: str, line: str, violation: str) -> None:
    file = f"plugins/interpstack_{plugin}/__init__.py"
    copy = broken({file: lambda text: f"{text}\n{line}\n"})
    (found,) = plugin_violations(copy)
    assert found.startswith(file)
    assert violation in found


def test_importing_the_core_loads_nothing_else() -> None:
    code = (
        "import sys, interpstack, interpstack.testing, interpstack.guests.javascript\n"
        f"loaded = {sorted(_JAVASCRIPT)!r} + ['langchain', 'deepagents', 'rich', 'click']\n"
        "found = [name for name in loaded if name in sys.modules]\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
