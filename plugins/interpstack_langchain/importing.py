"""The import of this package: what it needs, and names that are imported when they are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

__all__ = ["check_requirements", "lazy_names"]

#: Packages beyond a plain installation; an extra installs them.
_MODULES: Final = ("deepagents", "langchain", "langchain_core", "langgraph")


def check_requirements() -> None:
    """Make sure that the agent packages are installed; none is imported.

    Some are imported only when they are used, which is too late to report that one is missing.

    Raises:
        ModuleNotFoundError: A package is missing; the message names the extra that brings it.
    """
    missing = [name for name in _MODULES if find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(
            f"interpstack_langchain needs {', '.join(missing)}; install the extra with: "
            "pip install 'interpstack[langchain]'",
            name=missing[0],
        )


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package.

    The import of a module imports the packages in which it lies, too. With these functions, that
    does not import everything else that they have.

    Args:
        package: The package's `__name__`.
        modules: The names that the package has, each with the module in which it is defined.
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{modules[name]}"), name)
        vars(import_module(package))[name] = value  # the next use does not come here
        return value

    def names() -> list[str]:
        return sorted({*vars(import_module(package)), *modules})

    return get, names
