"""Packages that this package needs beyond a plain installation; an extra installs them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

__all__ = ["check_requirements"]

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
