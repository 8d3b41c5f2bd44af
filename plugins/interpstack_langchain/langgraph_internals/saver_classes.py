"""Classes of LangGraph's checkpointers, from packages that may not be installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, Literal

from interpstack import ConfigurationError

__all__ = ["saver_class"]

#: Module, class and packages, by the kind of database.
_KINDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "sqlite": ("langgraph.checkpoint.sqlite", "SqliteSaver", "langgraph-checkpoint-sqlite"),
    "postgres": (
        "langgraph.checkpoint.postgres",
        "PostgresSaver",
        "langgraph-checkpoint-postgres 'psycopg[binary]'",
    ),
}


def saver_class(kind: Literal["sqlite", "postgres"], what: str) -> Callable[..., Any]:
    """The synchronous checkpointer of a kind of database.

    Args:
        kind: The kind.
        what: Whatever needs the class, for the error.

    Raises:
        ConfigurationError: Its package is not installed; the message has the command to install it.
    """
    module, name, packages = _KINDS[kind]
    try:
        found: Callable[..., Any] = getattr(import_module(module), name)
    except ImportError as error:
        raise ConfigurationError(
            f"{what} needs a package that is not installed ({error}); run: pip install {packages}"
        ) from error
    return found
