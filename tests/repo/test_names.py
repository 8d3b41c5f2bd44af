"""Public names, and what is registered under which name."""

from __future__ import annotations

import ast
import tomllib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parsed import tree

import interpstack

_GROUP = "interpstack"
#: Where plugins add attributes to the package `interpstack`, which public names would hide.
_NAMES = "interpstack.names"
#: Where plugins register that no stack loads by name: fixtures of pytest, commands, surfaces.
_OTHERS = ("pytest11", "interpstack.commands", "interpstack.recorded_surfaces")
#: Modules whose public names are all meant for plugins and hosts.
_PUBLIC = ("src/interpstack/__init__.py",)


def _exported(root: Path, module: ast.Module) -> list[str] | None:
    """The names in `__all__`, with those that `__all__ += other.__all__` adds."""
    exported = None
    for node in module.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
            exported = list(ast.literal_eval(node.value))  # type: ignore[attr-defined]
        elif isinstance(node, ast.AugAssign) and ast.unparse(node.target) == "__all__":
            other = ast.unparse(node.value).partition(".")[0]
            (source,) = [
                alias.name
                for one in module.body
                if isinstance(one, ast.Import)
                for alias in one.names
                if alias.asname == other
            ]
            exported = [*(exported or ()), *_exports_of(root, source)]
    return exported


def _exports_of(root: Path, name: str) -> list[str]:
    path = root / "src" / name.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return _exported(root, tree(path)) or []


def _defined(root: Path, body: list[ast.stmt]) -> Iterator[str]:
    """Names that a module defines or imports; with `*`, those that the other module exports."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if getattr(node, "module", "") != "__future__":
                names = (alias.asname or alias.name.partition(".")[0] for alias in node.names)
                for name in names:
                    own = getattr(node, "module", "") or ""
                    yield from _exports_of(root, own) if name == "*" else [name]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (t.id for t in targets if isinstance(t, ast.Name))
        elif isinstance(node, (ast.If, ast.Try)):
            yield from _defined(root, node.body)


def export_violations(root: Path) -> list[str]:
    """Names in `__all__` that do not exist, and public ones that it leaves out."""
    found = []
    for path in sorted((root / "src").rglob("*.py")):
        module = tree(path)
        exported, defined = _exported(root, module), set(_defined(root, module.body))
        file = path.relative_to(root).as_posix()
        if exported is None:
            continue
        found += [
            f"{file}: {n} is in __all__ but not defined" for n in exported if n not in defined
        ]
        if len(exported) != len(set(exported)):
            found.append(f"{file}: a name is in __all__ twice")
        if file in _PUBLIC:
            public = {name for name in defined if not name.startswith("_")}
            left_out = sorted(public - set(exported))
            found += [f"{file}: {name} is public but not in __all__" for name in left_out]
    return found


def registration_violations(root: Path) -> list[str]:
    """Plugin folders without entry point, entry points without folder, folders not shipped."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    groups = project["project"]["entry-points"]
    points = groups[_GROUP]
    shipped = set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    folders = {path.parent.name for path in (root / "plugins").glob("*/__init__.py")}
    values = [*points.values(), *(v for other in _OTHERS for v in groups.get(other, {}).values())]
    registered = {value.partition(":")[0].partition(".")[0] for value in values}
    found = [f"plugins/{name} has no entry point" for name in sorted(folders - registered)]
    found += [f"the entry point of {name} has no folder" for name in sorted(registered - folders)]
    for name in sorted(folders):
        if f"plugins/{name}" not in shipped:
            found.append(f"plugins/{name} is not in the wheel")
        if not (root / "plugins" / name / "py.typed").exists():
            found.append(f"plugins/{name} has no py.typed")
    found += [
        f"src/{path.parent.name} has no py.typed"
        for path in sorted((root / "src").glob("*/__init__.py"))
        if not (path.parent / "py.typed").exists()
    ]
    public = set(interpstack.__all__)
    found += [
        f"the name {name} is public already" for name in groups.get(_NAMES, {}) if name in public
    ]
    for name, value in points.items():
        if value.partition(".")[0] != f"interpstack_{name}":
            found.append(f"entry point {name} is called other than its package {value}")
    return found


def class_names(root: Path) -> dict[str, list[str]]:
    """The files in which classes of each name are defined."""
    found: dict[str, list[str]] = {}
    for folder in ("src", "plugins"):
        for path in sorted((root / folder).rglob("*.py")):
            for node in tree(path).body:
                if isinstance(node, ast.ClassDef):
                    found.setdefault(node.name, []).append(path.relative_to(root).as_posix())
    return found


def test_a_class_name_has_one_meaning(root: Path) -> None:
    shared = {name for name, files in class_names(root).items() if len(files) > 1}
    assert shared == set()


def test_a_second_class_of_the_same_name_is_noticed(broken: Any) -> None:
    new = "plugins/interpstack_otel/added.py"
    copy = broken({new: "class InterpreterStack:\n    pass\n"})
    files = class_names(copy)["InterpreterStack"]
    assert files == ["src/interpstack/stack.py", new]


def test_exports(root: Path) -> None:
    assert export_violations(root) == []


def test_the_imported_package_has_the_names_that_its_source_says() -> None:
    public = {
        name
        for name, value in vars(interpstack).items()
        if not name.startswith("_")
        and name != "annotations"
        and not isinstance(value, types.ModuleType)
    }
    assert public == set(interpstack.__all__)


def test_registrations(root: Path) -> None:
    assert registration_violations(root) == []


def test_the_export_guard_notices(broken: Any) -> None:
    copy = broken(
        {
            "src/interpstack/__init__.py": lambda t: (
                t + "\nfrom interpstack.stack import HostOffer as X\n"
            ),
            "src/interpstack/cells/render.py": lambda t: t.replace(
                '["render"]', '["render", "gone"]'
            ),
        }
    )
    assert export_violations(copy) == [
        "src/interpstack/__init__.py: X is public but not in __all__",
        "src/interpstack/__init__.py: gone is public but not in __all__",
        "src/interpstack/cells/render.py: gone is in __all__ but not defined",
    ]


def test_the_registration_guard_notices(broken: Any) -> None:
    copy = broken(
        {
            "plugins/interpstack_new/__init__.py": "X = 1\n",
            "src/interpstack_wasm/py.typed": None,
            "pyproject.toml": lambda t: t.replace(
                'console = "interpstack_console"', 'console = "interpstack_gone"'
            ).replace("\nload_ipython_extension =", '\nSession = "a:b"\nload_ipython_extension ='),
        }
    )
    assert registration_violations(copy) == [
        "plugins/interpstack_console has no entry point",
        "plugins/interpstack_new has no entry point",
        "the entry point of interpstack_gone has no folder",
        "plugins/interpstack_new is not in the wheel",
        "plugins/interpstack_new has no py.typed",
        "src/interpstack_wasm has no py.typed",
        "the name Session is public already",
        "entry point console is called other than its package interpstack_gone",
    ]
