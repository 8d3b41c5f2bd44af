"""Budgets: limits on the amounts drawn on one account, and the error for a used-up budget."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import attrs

from interpstack import ConfigurationError, GuestException
from interpstack.checks import positive

__all__ = ["AmountLimits", "Budget", "BudgetExceeded"]

#: Where the kind of a tool's calls begins; its name follows.
_TOOL: Final = "tool_requests:"
_TIMES: Final = ("cpu_seconds", "wall_seconds")
_WORDS: Final = {
    "cpu_seconds": "CPU seconds",
    "wall_seconds": "seconds",
    "dispatches": "subagents",
    "output_bytes": "bytes of output",
}


def _tool_requests(value: Any) -> Mapping[str, int]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"budget: tool_requests takes a mapping of names to whole numbers; got {value!r}"
        )
    for name, count in value.items():
        if not isinstance(name, str) or type(count) is not int or count < 1:
            raise ConfigurationError(
                "budget: tool_requests takes names of tools, each with a whole number greater "
                f"than 0; got {name!r}: {count!r}"
            )
    return MappingProxyType(dict(value))


def _whole() -> Any:
    return attrs.field(default=None, validator=positive(int, of="budget"))


def _any() -> Any:
    return attrs.field(default=None, validator=positive(float, of="budget"))


class AmountLimits:
    """Limits on the total amounts drawn on one account, by kind.

    A package that draws kinds of its own, such as the agents of a workflow, has a class for them.
    """

    __slots__ = ()

    def limit(self, kind: str) -> float | None:
        """The limit of one kind; `None` if that kind has no limit.

        Raises:
            ConfigurationError: There is no such kind.
        """
        raise NotImplementedError


@attrs.frozen(kw_only=True)
class Budget(AmountLimits):
    """Limits on the total amounts drawn on one account. `None` means no limit.

    Attributes:
        cpu_seconds: Time guests may compute.
        wall_seconds: Time during which at least one cell runs, waiting included.
        requests: Awaited bridge calls; timers and imports are not counted.
        tool_requests: Calls of single tools, by the tool's name or the name code calls it by.
        dispatches: Subagents.
        tokens: Tokens that models report.
        cost: The cost that models report or the host counts, in any unit.
        output_bytes: Bytes of results, errors and console output, as UTF-8.

    Raises:
        ConfigurationError: A value is of the wrong type or not positive.
    """

    cpu_seconds: float | None = _any()
    wall_seconds: float | None = _any()
    requests: int | None = _whole()
    tool_requests: Mapping[str, int] = attrs.field(
        factory=dict, converter=_tool_requests, hash=False
    )
    dispatches: int | None = _whole()
    tokens: int | None = _whole()
    cost: float | None = _any()
    output_bytes: int | None = _whole()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle a budget by its fields, for a read-only mapping has no such form."""
        fields = attrs.asdict(self, recurse=False)
        fields["tool_requests"] = dict(self.tool_requests)
        return partial(type(self), **fields), ()

    def limit(self, kind: str) -> float | None:
        """The limit of one kind; `None` if that kind has no limit.

        Args:
            kind: An attribute's name, or `tool_requests:<name>`.

        Raises:
            ConfigurationError: There is no such kind.
        """
        if kind.startswith(_TOOL):
            return self.tool_requests.get(kind.removeprefix(_TOOL))
        if kind == "tool_requests" or kind not in attrs.fields_dict(Budget):
            known = [field.name for field in attrs.fields(Budget) if field.name != "tool_requests"]
            raise ConfigurationError(
                f"unknown kind of budget {kind!r}; known: {', '.join(known)}, {_TOOL}<name>"
            )
        limit: float | None = getattr(self, kind)
        return limit


class BudgetExceeded(GuestException):
    """Raised when a budget is used up. If a handler raises this error, the guest can catch it.

    Args:
        kind: The kind of amount, as in `Budget.limit`.
        limit: The limit of that kind.
        spent: The amount that has been drawn.
        reserved: The amount that calls in flight may still use.
        asked: The amount that was requested.
        account: Name of the account whose budget it is; may be empty.
    """

    def __init__(
        self,
        kind: str,
        limit: float,
        spent: float,
        *,
        reserved: float = 0,
        asked: float = 0,
        account: str = "",
    ) -> None:
        self.kind, self.limit, self.spent, self.reserved = kind, limit, spent, reserved
        self.asked, self.account = asked, account
        self.left = max(0, limit - spent - reserved)
        whose = f"the budget of {account}" if account else "the budget"
        # A guest that is stopped goes on for a moment, which differs from run to run.
        seen = min(spent, limit) if kind in _TIMES else spent
        message = f"{whose} is used up: {seen:g} of {_amount(kind, limit)}"
        if 0 < self.left < asked:
            message = (
                f"{whose} has too little left for this call: {seen:g} of {_amount(kind, limit)} "
                f"used, {asked:g} asked for"
            )
        if reserved:
            message += f", {reserved:g} reserved by calls in flight"
        super().__init__(message, name="BudgetExceeded", budget=kind, limit=limit, left=self.left)

    def __reduce__(self) -> tuple[Any, ...]:
        made = partial(
            type(self),
            self.kind,
            self.limit,
            self.spent,
            reserved=self.reserved,
            asked=self.asked,
            account=self.account,
        )
        return made, (), self.__dict__


def _amount(kind: str, limit: float) -> str:
    if kind.startswith(_TOOL):
        return f"{limit:g} calls of {kind.removeprefix(_TOOL)}"
    return f"{limit:g} {_WORDS.get(kind, kind)}"
