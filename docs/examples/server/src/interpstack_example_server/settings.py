"""Settings of a worker, from environment variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import attrs

__all__ = ["Parts", "Settings"]


@attrs.frozen(kw_only=True)
class Parts:
    """What an agent is made of.

    Attributes:
        model: The chat model, or its name as `create_agent` takes it.
        tools: The tools that code may call: functions, or tools of LangChain.
        interrupt_on: The rules of approval by the names of tools, as `CodeInterpreterMiddleware`
            takes them.
    """

    model: Any
    tools: Sequence[Any] = ()
    interrupt_on: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Settings:
    """Settings of a worker.

    Attributes:
        database: The connection string of PostgreSQL.
        agent: Returns the parts of the agent.
        user_header: The header in which a proxy names the user; without one, all requests have
            the same user.
        turns_per_minute: How many turns a user may start in a minute; None for any number.
        patience_seconds: Seconds that a turn waits for an earlier one of its thread.
        claim_seconds: Seconds after which the thread of a worker that died is free.
    """

    database: str = attrs.field(repr=False)
    agent: Callable[[], Parts]
    user_header: str | None = None
    turns_per_minute: int | None = None
    patience_seconds: float = 10.0
    claim_seconds: float = 10.0

    @classmethod
    def from_environment(cls) -> Settings:
        """Read the settings from the environment.

        Raises:
            SystemExit: A variable is missing or wrong.
        """
        missing = [name for name in ("DATABASE_URL", "AGENT") if not os.environ.get(name)]
        if missing:
            raise SystemExit(f"set {' and '.join(missing)}; the README shows how")
        module, _, function = os.environ["AGENT"].partition(":")
        agent = getattr(_imported(module), function, None) if module and function else None
        if not callable(agent):
            raise SystemExit("AGENT is module:function, a function that returns Parts")
        header, rate = os.environ.get("USER_HEADER"), os.environ.get("TURNS_PER_MINUTE")
        if rate and not header:
            raise SystemExit("TURNS_PER_MINUTE limits each user: set USER_HEADER, too")
        if rate and not (rate.isascii() and rate.isdigit() and int(rate) > 0):
            raise SystemExit(f"TURNS_PER_MINUTE is a whole number above 0; got {rate!r}")
        return cls(
            database=os.environ["DATABASE_URL"],
            agent=agent,
            user_header=header or None,
            turns_per_minute=int(rate) if rate else None,
        )

    def parts(self) -> Parts:
        """Make the parts of the agent.

        Raises:
            TypeError: The function of the agent returned something else.
        """
        parts = self.agent()
        if not isinstance(parts, Parts):
            kind = type(parts).__name__
            raise TypeError(f"AGENT returned {kind}; it returns Parts(model=…, tools=[…])")
        return parts


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
