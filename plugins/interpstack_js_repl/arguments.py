"""Arguments that `JsReplMiddleware` passes on to `CodeInterpreterMiddleware`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, TypedDict

from interpstack import Bridge, ConfigurationError, HostOffer, InterpreterStack
from interpstack.similar_names import did_you_mean
from interpstack_accounts.api import Budget
from interpstack_files.api import Files
from interpstack_handles.api import Handles
from interpstack_js_repl.guest_global import has_helpers
from interpstack_langchain.api import BackgroundOptions, CostOf, PTCOption, WrongType
from interpstack_learned import LearnedTypes

__all__ = ["InterpreterArguments", "check_others", "check_ready"]


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
    unhandled: Literal["tell", "raise", "ignore"]
    check: Literal["names", "types", "off"]
    late_tools: Collection[str]
    tools_only: bool
    attachments: Literal["auto", "always", "never"]
    background: bool | BackgroundOptions
    files: Literal["read-only", "read-write"] | bool | Files | None
    handles: bool | Handles | None
    learn_types: bool | str | LearnedTypes | None
    value_bytes: int
    timers: int
    concurrency: int
    console_chars: int | None
    bridges: Sequence[Bridge]
    mcp: Any
    options: Mapping[str, Any] | None


_NAMES: Final = tuple(InterpreterArguments.__annotations__)


#: Own arguments of `JsReplMiddleware` that a ready stack has in its own way, and how it gets them.
_OF_STACK: Final = {
    "engine": "InterpreterStack(engine)",
    "preset": "InterpreterStack(plugins=[…])",
    "timeout": "InterpreterStack(limits=Limits(cpu_seconds=…))",
    "cwd": "JsReplMiddleware.plugin(cwd=…)",
    "home_dir": "JsReplMiddleware.plugin(home_dir=…)",
    "tmp_dir": "JsReplMiddleware.plugin(tmp_dir=…)",
}


def check_others(others: Mapping[str, Any], own: Collection[str]) -> None:
    """Refuse arguments that there are not.

    Args:
        others: The arguments that `JsReplMiddleware` does not name itself.
        own: Names of the arguments that it names.

    Raises:
        WrongType: One is unknown; the message names the nearest.
    """
    for name in others:
        if name not in _NAMES:
            hint = did_you_mean(name, [*own, *_NAMES])
            raise WrongType(
                f"JsReplMiddleware has no argument {name!r:.60}; it takes its own and those of "
                f"CodeInterpreterMiddleware{hint}"
            )


def check_ready(
    stack: Any, namespace: str, given: Mapping[str, Any], usual: Mapping[str, Any]
) -> None:
    """Refuse a ready stack without the helpers, and arguments that such a stack would ignore.

    Args:
        stack: The ready stack.
        namespace: Name of the global that has the helpers.
        given: The arguments of `JsReplMiddleware` that are the stack's, by name.
        usual: Their defaults.

    Raises:
        ConfigurationError: The helpers are missing, or an argument is the stack's.
        WrongType: The object is not a stack.
    """
    if not isinstance(stack, InterpreterStack):
        raise WrongType(f"stack takes an InterpreterStack; got {stack!r:.60}")
    for name, place in _OF_STACK.items():
        if given[name] != usual[name]:
            raise ConfigurationError(f"{name} belongs to the stack when stack= is given: {place}")
    if not has_helpers(namespace, stack.bridge_set(HostOffer())):
        raise ConfigurationError(
            f"the stack has no helpers named {namespace!r}; make it with "
            f"plugins=[…, JsReplMiddleware.plugin(namespace={namespace!r})]"
        )
