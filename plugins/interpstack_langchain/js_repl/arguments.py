"""Arguments that `JsReplMiddleware` passes on to `CodeInterpreterMiddleware`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, Literal, TypedDict

from interpstack import Bridge, ConfigurationError
from interpstack_accounts.api import Budget
from interpstack_langchain.durability.spending import CostOf
from interpstack_langchain.options import BackgroundOptions, PTCOption, WrongType

__all__ = ["InterpreterArguments", "check_others"]


class InterpreterArguments(TypedDict, total=False):
    """The arguments of `CodeInterpreterMiddleware` that `JsReplMiddleware` does not change."""

    memory_limit: int
    wall_timeout: float | None
    max_ptc_calls: int | None
    max_result_chars: int
    capture_console: bool
    subagents: bool
    max_subagent_concurrency: int
    ptc: PTCOption | None
    mode: str | None
    max_snapshot_bytes: int | None
    snapshot_signing_key: str | bytes | None
    plugins: Sequence[Any]
    interrupt_on: Any
    skills_backend: Any
    budget: Budget | None
    cost_of: CostOf | None
    durable: bool
    tool_events: bool
    pause_grace: float
    lock_timeout: float | None
    tool_errors: Literal["tell", "raise"]
    late_tools: Collection[str]
    tools_only: bool
    attachments: Literal["auto", "always", "never"]
    background: bool | BackgroundOptions
    value_bytes: int
    timers: int
    concurrency: int
    console_chars: int | None
    bridges: Sequence[Bridge]
    options: Mapping[str, Any] | None


_NAMES: Final = tuple(InterpreterArguments.__annotations__)


def check_others(others: Mapping[str, Any], own: Collection[str]) -> None:
    """Refuse arguments that there are not, and a ready stack.

    Args:
        others: The arguments that `JsReplMiddleware` does not name itself.
        own: Names of the arguments that it names.

    Raises:
        ConfigurationError: One is `stack`.
        WrongType: One is unknown; the message names the nearest.
    """
    if "stack" in others:
        raise ConfigurationError(
            "JsReplMiddleware takes no stack=: the helpers of its code are a plugin made of "
            "namespace=, tool_name= and cwd=, and plugins cannot be added to a ready stack. Pass "
            "engine=, preset=, plugins= and limits, and it makes a stack of them"
        )
    for name in others:
        if name not in _NAMES:
            near = get_close_matches(name, [*own, *_NAMES], 1)
            hint = f". Did you mean {near[0]!r}?" if near else ""
            raise WrongType(
                f"JsReplMiddleware has no argument {name!r:.60}; it takes its own and those of "
                f"CodeInterpreterMiddleware{hint}"
            )
