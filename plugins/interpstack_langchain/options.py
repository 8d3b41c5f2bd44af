"""Arguments of the middleware, checked when it is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import attrs
from langchain_core.tools import BaseTool

from interpstack import ConfigurationError, Limits
from interpstack.checks import shown
from interpstack_agents import check_signing_key
from interpstack_files.api import Files
from interpstack_handles.api import Handles
from interpstack_learned import LearnedTypes, learned_types

__all__ = ["BackgroundOptions", "Options", "PTCOption", "WrongType"]

#: What `ptc` takes: names of the agent's tools, and tools.
PTCOption = Iterable[str | BaseTool]

#: Characters of a tool's name that every provider takes.
_NAME_CHARS = 64
#: The largest values, as `Limits` has them.
_MOST = {float: 10**9, int: 2**53}


class WrongType(ConfigurationError, TypeError):
    """An argument is of a wrong type."""


def _number(
    kind: type, *, least: int, optional: bool = False, none: str = "for no limit", unit: str = ""
) -> Any:
    def validate(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if optional and value is None:
            return
        fits = isinstance(value, (int, float) if kind is float else int)
        if isinstance(value, bool) or not fits:
            raise WrongType(_message(attribute, value))
        if not value >= least or value in (0, float("inf")):
            raise ConfigurationError(_message(attribute, value))
        if value > _MOST[kind]:
            raise ConfigurationError(_message(attribute, value, f", at most {_MOST[kind]}"))

    def _message(attribute: attrs.Attribute[Any], value: Any, most: str = "") -> str:
        whole = f"a whole number{f' of {unit}' if unit else ''}, at least {least}"
        what = "a positive integer" if least == 1 else whole
        what = "a number of seconds above 0" if kind is float else what
        also = f"{', ' if most else ' '}or None {none}" if optional else ""
        return f"{attribute.name} takes {what}{most}{also}; got {shown(value)}"

    return validate


def _flag(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, bool):
        raise WrongType(f"{attribute.name} takes True or False; got {shown(value)}")


def _seconds(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """A number of seconds, where 0 is to wait for nothing."""
    name = attribute.name
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongType(f"{name} takes a number of seconds of at least 0; got {shown(value)}")
    if not 0 <= value <= _MOST[float]:
        raise ConfigurationError(
            f"{name} takes a number of seconds from 0 to {_MOST[float]}; got {shown(value)}"
        )


def _tool_name(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, str):
        raise WrongType(f"{attribute.name} takes a string; got {shown(value)}")
    plain = value.isascii() and value.replace("_", "").replace("-", "").isalnum()
    if not plain or len(value) > _NAME_CHARS:
        raise ConfigurationError(
            f"{attribute.name} takes at most {_NAME_CHARS} letters, digits, '_' and '-', as model "
            f"providers do, and at least one letter or digit; got {shown(value)}"
        )


def _tool_names(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise WrongType(f"{attribute.name} takes two names of tools; got {shown(value)}")
    for name in value:
        _tool_name(instance, attribute, name)
    if value[0] == value[1]:
        raise ConfigurationError(f"{attribute.name} takes two different names; got {shown(value)}")


def _mode(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, str):
        raise WrongType(
            f"mode takes 'thread', 'turn', 'call' or a plugin's mode; got {shown(value)}"
        )


def _one_of(*words: str) -> Any:
    """A validator for an option that takes one of some words."""
    accepted = f"{', '.join(map(repr, words[:-1]))} or {words[-1]!r}"

    def check(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value not in words:
            raise ConfigurationError(f"{attribute.name} takes {accepted}; got {shown(value)}")

    return check


def _mode_name(value: Any) -> Any:
    return "thread" if value is None else value


def _signing_key(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, (str, bytes)):
        raise WrongType(f"snapshot_signing_key takes bytes, a string or None; got {shown(value)}")
    check_signing_key(attribute.name, value.encode() if isinstance(value, str) else value)


def _ptc(value: Any) -> tuple[str | BaseTool, ...]:
    if value is None:
        return ()
    # A tool can be iterated over, too: it yields its fields.
    if isinstance(value, (str, Mapping, BaseTool)) or not isinstance(value, Iterable):
        raise WrongType(f"ptc takes a list of tool names and tools; got {shown(value)}")
    items = tuple(value)
    for item in items:
        name = item.name if isinstance(item, BaseTool) else item
        if not isinstance(name, str):
            raise WrongType(f"ptc takes a list of tool names and tools; got {shown(item)} in it")
        if name == "task":
            raise ConfigurationError(
                "ptc cannot hold 'task': code dispatches subagents with the global task(), which "
                "subagents=False turns off; leave 'task' out of ptc"
            )
    return items


@attrs.frozen
class BackgroundOptions:
    """The settings of evals that may be suspended.

    Attributes:
        yield_after: Seconds after which an eval that waits for its calls is suspended.
        tools: Names of the tools that continue and end such an eval.

    Raises:
        ConfigurationError: A value is wrong.
    """

    yield_after: float = attrs.field(default=10.0, validator=_seconds)
    tools: tuple[str, str] = attrs.field(default=("wait", "terminate"), validator=_tool_names)


def _background(value: Any) -> BackgroundOptions | None:
    if isinstance(value, BackgroundOptions):
        return value
    if value is not None and not isinstance(value, bool):
        raise WrongType(f"background takes True, False or BackgroundOptions; got {shown(value)}")
    return BackgroundOptions() if value else None


#: What `files` takes beside a `Files`.
_FILES = ("read-only", "read-write", False)


def _files(value: Any) -> Any:
    return False if value is None else "read-only" if value is True else value


def _are_files(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, Files) and value not in _FILES:
        raise ConfigurationError(
            "files takes 'read-only', 'read-write', False or a Files, as "
            f"interpstack_files.api.Files('data'); got {shown(value)}"
        )


def _handles(value: Any) -> Handles | None:
    """The `Handles` that the option means; `None` for none."""
    if value is None or value is False:
        return None
    if value is True:
        return Handles()
    if not isinstance(value, Handles):
        raise WrongType(
            "handles takes True, False or a Handles, as "
            f"interpstack_handles.api.Handles(handle_bytes=100_000); got {shown(value)}"
        )
    return value


@attrs.frozen(kw_only=True)
class Options:
    """See `CodeInterpreterMiddleware`.

    Attributes:
        every_tool: Whether code may call every tool of the agent: nothing lists some of them.
    """

    memory_limit: int = attrs.field(
        default=64 * 2**20, validator=_number(int, least=4 * 2**20, unit="bytes")
    )
    timeout: float | None = attrs.field(
        default=5.0, validator=_number(float, least=0, optional=True)
    )
    wall_timeout: float | None = attrs.field(
        default=600.0, validator=_number(float, least=0, optional=True)
    )
    max_ptc_calls: int | None = attrs.field(
        default=256, validator=_number(int, least=1, optional=True)
    )
    tool_name: str = attrs.field(default="eval", validator=_tool_name)
    max_result_chars: int = attrs.field(default=4000, validator=_number(int, least=1))
    capture_console: bool = attrs.field(default=True, validator=_flag)
    subagents: bool = attrs.field(default=True, validator=_flag)
    max_subagent_concurrency: int = attrs.field(default=32, validator=_number(int, least=1))
    ptc: tuple[str | BaseTool, ...] = attrs.field(default=(), converter=_ptc)
    mode: str = attrs.field(default="thread", converter=_mode_name, validator=_mode)
    max_snapshot_bytes: int | None = attrs.field(
        default=None, validator=_number(int, least=1, optional=True, none="for memory_limit")
    )
    snapshot_signing_key: str | bytes | None = attrs.field(default=None, validator=_signing_key)
    durable: bool = attrs.field(default=True, validator=_flag)
    tool_events: bool = attrs.field(default=True, validator=_flag)
    pause_grace: float = attrs.field(default=5.0, validator=_seconds)
    lock_timeout: float | None = attrs.field(
        default=None, validator=_number(float, least=0, optional=True)
    )
    tool_errors: Literal["tell", "raise"] = attrs.field(
        default="tell", validator=_one_of("tell", "raise")
    )
    unhandled: Literal["tell", "raise", "ignore"] = attrs.field(
        default="tell", validator=_one_of("tell", "raise", "ignore")
    )
    check: Literal["names", "types", "off"] = attrs.field(
        default="names", validator=_one_of("names", "types", "off")
    )
    background: BackgroundOptions | None = attrs.field(default=None, converter=_background)
    tools_only: bool = attrs.field(default=False, validator=_flag)
    every_tool: bool = False
    attachments: Literal["auto", "always", "never"] = attrs.field(
        default="auto", validator=_one_of("auto", "always", "never")
    )
    files: Literal["read-only", "read-write", False] | Files = attrs.field(
        default="read-only", converter=_files, validator=_are_files
    )
    handles: Handles | None = attrs.field(default=None, converter=_handles)
    learn_types: LearnedTypes | None = attrs.field(default=None, converter=learned_types)
    value_bytes: int = attrs.field(default=16 * 2**20, validator=_number(int, least=1))
    timers: int = attrs.field(default=1000, validator=_number(int, least=1))
    concurrency: int = attrs.field(default=128, validator=_number(int, least=1))
    console_chars: int | None = attrs.field(
        default=None, validator=_number(int, least=1, optional=True, none="for max_result_chars")
    )

    @property
    def calls_tools(self) -> bool:
        """Whether code may call tools of the agent."""
        return self.every_tool or bool(self.ptc)

    @property
    def files_mode(self) -> Literal["read-only", "read-write"] | None:
        """What code may do with the agent's own files; `None` without them."""
        return None if isinstance(self.files, Files) or self.files is False else self.files

    @property
    def asks_for_files(self) -> bool:
        """Whether more was asked for than the default, which a stack may lack."""
        return self.files not in (False, "read-only")

    @property
    def console_limit(self) -> int:
        """The largest number of characters of console output that is shown."""
        return self.max_result_chars if self.console_chars is None else self.console_chars

    def limits(self) -> Limits:
        """The limits of each eval."""
        return Limits(
            cpu_seconds=self.timeout,
            wall_seconds=self.wall_timeout,
            memory_bytes=self.memory_limit,
            requests=self.max_ptc_calls,
            result_chars=self.max_result_chars,
            console_chars=self.console_limit,
            value_bytes=self.value_bytes,
            timers=self.timers,
            concurrency=self.concurrency,
        )
