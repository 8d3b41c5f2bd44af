"""Names of a package that are imported when they are used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    module: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package, or of a module in one.

    The import of a module imports the packages in which it lies, too. With these functions, that
    does not import everything else that they have.

    Args:
        module: The `__name__` of the package or module.
        modules: The names that it has, each with the module of the package that defines it.
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        own = vars(sys.modules[module])
        value = getattr(import_module(f"{own['__spec__'].parent}.{modules[name]}"), name)
        own[name] = value  # the next use does not come here
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[module]), *modules})

    return get, names
