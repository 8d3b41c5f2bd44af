"""Options of `WorkflowMiddleware`, checked when it is made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

import attrs

from interpstack import ConfigurationError
from interpstack_workflows.api import BudgetLimits

__all__ = ["Decider", "WorkflowOptions"]

#: Who answers questions of workflows.
Decider: TypeAlias = Literal["host", "interrupt", "model"]
_PREFIX: Final = re.compile(r"[A-Za-z0-9_-]{0,40}", re.ASCII)


def _count(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if type(value) is not int or value < 1:
        raise ConfigurationError(
            f"{attribute.name} takes a whole number of at least 1; got {value!r:.60}"
        )


def _seconds(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    fits = type(value) in (int, float) and 0 <= value <= 10**9
    if value is None and attribute.name == "wall_seconds":
        return
    if not fits or (attribute.name == "wall_seconds" and not value):
        least = "above 0, or None" if attribute.name == "wall_seconds" else "from 0"
        raise ConfigurationError(
            f"{attribute.name} takes a number of seconds {least}; got {value!r:.60}"
        )


def _decider(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if value not in get_args(Decider):
        known = ", ".join(repr(one) for one in get_args(Decider))
        raise ConfigurationError(f"{attribute.name} takes one of {known}; got {value!r:.60}")


def _flag(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, bool):
        raise ConfigurationError(f"{attribute.name} takes True or False; got {value!r:.60}")


def _prefix(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, str) or not _PREFIX.fullmatch(value):
        raise ConfigurationError(
            "tool_prefix takes at most 40 letters, digits, '_' and '-', as model providers do; "
            f"got {value!r:.60}"
        )


def _limits(value: Any) -> BudgetLimits:
    if isinstance(value, BudgetLimits):
        return value
    if value is None or type(value) is int:
        return BudgetLimits(tokens=value)
    known = [one.name for one in attrs.fields(BudgetLimits)]
    if not isinstance(value, Mapping) or set(value) - set(known):
        raise ConfigurationError(
            f"budget takes a number of tokens, BudgetLimits, or a mapping with any of "
            f"{', '.join(known)}; got {value!r:.100}"
        )
    return BudgetLimits(**value)


@attrs.frozen(kw_only=True)
class WorkflowOptions:
    """See `WorkflowMiddleware`."""

    tool_prefix: str = attrs.field(default="workflow_", validator=_prefix)
    budget: BudgetLimits = attrs.field(default=None, converter=_limits)
    wall_seconds: float | None = attrs.field(default=None, validator=_seconds)
    max_running: int = attrs.field(default=4, validator=_count)
    max_source_chars: int = attrs.field(default=65_536, validator=_count)
    max_result_chars: int = attrs.field(default=4000, validator=_count)
    max_prompt_chars: int = attrs.field(default=6000, validator=_count)
    max_wait_seconds: float = attrs.field(default=60.0, validator=_seconds)
    writes: bool = attrs.field(default=True, validator=_flag)
    questions: Decider = attrs.field(default="host", validator=_decider)
    approvals: Decider = attrs.field(default="host", validator=_decider)
    signals: bool = attrs.field(default=False, validator=_flag)

    @property
    def sends(self) -> bool:
        """Whether the model may send anything to a run."""
        return self.signals or "model" in (self.questions, self.approvals)

    def decider(self, kind: str) -> Decider:
        """Return the one who answers waits of a kind."""
        return self.approvals if kind == "approval" else self.questions

    def tool(self, verb: str) -> str:
        """Name of a tool."""
        return f"{self.tool_prefix}{verb}"
