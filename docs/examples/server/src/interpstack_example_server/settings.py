"""Settings of a worker, from environment variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import attrs

__all__ = ["Settings"]


@attrs.frozen(kw_only=True)
class Settings:
    """Settings of a worker.

    Attributes:
        database: The connection string of PostgreSQL.
        parts: Returns the model and the tools of the agent.
        patience_seconds: Seconds that a turn waits for an earlier one of its thread.
        claim_seconds: Seconds after which the thread of a worker that died is free.
    """

    database: str = attrs.field(repr=False)
    parts: Callable[[], tuple[Any, Sequence[Any]]]
    patience_seconds: float = 10.0
    claim_seconds: float = 10.0

    @classmethod
    def from_environment(cls) -> Settings:
        """The settings that the environment has.

        Raises:
            SystemExit: A variable is missing or wrong.
        """
        missing = [name for name in ("DATABASE_URL", "AGENT") if not os.environ.get(name)]
        if missing:
            raise SystemExit(f"set {' and '.join(missing)}; the README shows how")
        module, _, function = os.environ["AGENT"].partition(":")
        parts = getattr(_imported(module), function, None) if module and function else None
        if not callable(parts):
            raise SystemExit("AGENT is module:function, a function of model and tools")
        return cls(database=os.environ["DATABASE_URL"], parts=parts)


def _imported(name: str) -> ModuleType:
    """Import the module of the agent, which may be a file of the current folder."""
    folder = os.getcwd()  # noqa: PTH109 - an entry of the path
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise  # an import of the agent itself
        raise SystemExit(
            f"AGENT names the module {name!r}, which is neither installed nor in {folder}"
        ) from None
