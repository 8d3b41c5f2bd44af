"""Public names: documented, listed by `dir`, and with type hints that can be read at run time.

Tools such as attrs, pydantic and typer read hints with `typing.get_type_hints`, which fails on a
name that a module imports for type checkers alone.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from decimal import Decimal


def public_modules(root: Path) -> list[str]:
    """Packages in `src` and `plugins`, and the modules `api` of plugins."""
    packages = [
        path.parent
        for folder in ("src", "plugins")
        for path in root.glob(f"{folder}/*/__init__.py")
    ]
    apis = [f"{package.name}.api" for package in packages if (package / "api.py").exists()]
    return sorted([*(package.name for package in packages), *apis])


def public_parts(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The classes and functions in a module's `__all__`, and the public methods of the classes."""
    for name in getattr(module, "__all__", ()):
        part = getattr(module, name)
        if inspect.isclass(part) or inspect.isfunction(part):
            yield name, part
        if inspect.isclass(part):
            for method, value in vars(part).items():
                function = getattr(value, "fget", getattr(value, "__func__", value))
                if inspect.isfunction(function) and _is_public(method, function, part):
                    yield f"{name}.{method}", function


def _is_public(name: str, function: Any, owner: type) -> bool:
    """Whether a method is public, and not of another project, such as those that pydantic adds."""
    projects = {one.__module__.partition(".")[0] for one in (function, owner)}
    return not name.startswith("_") and len(projects) == 1


def unreadable(module: ModuleType) -> list[str]:
    """Public names whose hints cannot be read, unless a class of another project is at fault."""
    found = []
    for name, part in public_parts(module):
        try:
            typing.get_type_hints(part)
        except (NameError, TypeError) as error:
            bases = inspect.getmro(part)[1:] if inspect.isclass(part) else ()
            if not any(_is_foreign(base) for base in bases):
                found.append(f"{module.__name__}.{name}: {error}")
    return found


def _is_foreign(base: type) -> bool:
    """Whether a class is of another project, and its own hints cannot be read."""
    try:
        typing.get_type_hints(base)
    except (NameError, TypeError):
        return not base.__module__.startswith("interpstack")
    return False


def test_hints_of_public_names_can_be_read(root: Path) -> None:
    modules = [import_module(name) for name in public_modules(root)]
    assert len(modules) > 20
    assert [line for module in modules for line in unreadable(module)] == []


def test_public_names_are_documented_and_listed(root: Path) -> None:
    modules = [import_module(name) for name in public_modules(root)]
    silent = [
        f"{module.__name__}.{name}"
        for module in modules
        for name, part in public_parts(module)
        if "." not in name and not inspect.getdoc(part)
    ]
    assert silent == []
    hidden = {
        module.__name__: set(getattr(module, "__all__", ())) - set(dir(module))
        for module in modules
    }
    assert {name: names for name, names in hidden.items() if names} == {}


class _Price:
    """A class whose hints only a type checker can read."""

    amount: Decimal

    def doubled(self) -> Decimal:
        return self.amount * 2


@pytest.mark.parametrize("name", ["_Price", "_Price.doubled"])
def test_the_guard_notices(name: str) -> None:
    module = ModuleType("made_up")
    module.__dict__.update(_Price=_Price, __all__=["_Price"])
    assert f"made_up.{name}: name 'Decimal' is not defined" in unreadable(module)
