"""Budgets of runs: hard limits, reserved before a call and corrected after it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from interpstack import ConfigurationError
from interpstack_accounts.api import Account, AmountLimits, Reservation
from interpstack_workflows.budgets.usage import WorkflowUsage

__all__ = ["BudgetLimits", "RunBudget"]

#: The kinds of amounts that have limits.
_KINDS: Final = ("tokens", "cost", "seconds", "agents")
#: Kinds that are counted, and have none.
_COUNTED: Final = ("input_tokens", "output_tokens")


def _check_limit(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    whole = attribute.name in ("tokens", "agents")
    if value is None:
        return
    fits = type(value) is int if whole else type(value) in (int, float) and math.isfinite(value)
    if not fits or value < 0:
        kind = "a whole number" if whole else "a number"
        raise ConfigurationError(
            f"BudgetLimits: {attribute.name} takes {kind}, 0 or more, or None; got {value!r:.40}"
        )


@attrs.frozen(kw_only=True)
class BudgetLimits(AmountLimits):
    """The limits of a budget; `None` means no limit.

    Attributes:
        tokens: Tokens that models read and write.
        cost: Money, in the currency of the host.
        seconds: Time that agents work, added up.
        agents: Agents that are called.

    Raises:
        ConfigurationError: A limit is not a number, or is below 0.
    """

    tokens: int | None = attrs.field(default=None, validator=_check_limit)
    cost: float | None = attrs.field(default=None, validator=_check_limit)
    seconds: float | None = attrs.field(default=None, validator=_check_limit)
    agents: int | None = attrs.field(default=None, validator=_check_limit)

    def limit(self, kind: str) -> float | None:
        """Return the limit of one kind of amount; `None` if it has none.

        Raises:
            ConfigurationError: There is no such kind.
        """
        if kind in _COUNTED:
            return None
        if kind not in _KINDS:
            raise ConfigurationError(f"unknown kind {kind!r}; known: {', '.join(_KINDS)}")
        limit: float | None = getattr(self, kind)
        return limit

    def to_json(self) -> dict[str, Any]:
        """Return the limits that are set, as plain JSON."""
        return attrs.asdict(self, filter=lambda _, value: value is not None)


class RunBudget:
    """The account of a run, with accounts of phases and children inside it.

    A reserved amount counts as spent until `commit`, so calls that run at the same time cannot
    exceed a limit together. If every call reserves the most that it may use, no limit is exceeded;
    a call that does not know its amounts can exceed a limit by its own use.

    Args:
        limits: The limits of the run.
        inner: Limits of phases and children, by their name.
    """

    def __init__(
        self, limits: BudgetLimits, inner: Mapping[str, BudgetLimits] | None = None
    ) -> None:
        self.limits = limits
        self._run = Account(limits, name="the run")
        self._inner = {
            name: Account(each, self._run, repr(name)) for name, each in (inner or {}).items()
        }
        self._unused = set(self._inner)

    @property
    def used(self) -> WorkflowUsage:
        """Everything that has been spent."""
        return WorkflowUsage.of_amounts(self._run.drawn())

    @property
    def total(self) -> int | None:
        """The limit in tokens; `None` for none."""
        return self.limits.tokens

    @property
    def spent(self) -> int:
        """The tokens that have been spent."""
        return int(self._run.used("tokens"))

    @property
    def unused(self) -> list[str]:
        """Names with limits that no phase, child or call of the run has had, in order."""
        return sorted(self._unused)

    def met(self, names: Iterable[str | None]) -> None:
        """Note names of phases that the run has entered, or of children that it has called."""
        self._unused.difference_update(names)

    def limits_cost(self, names: Iterable[str | None] = ()) -> bool:
        """Return whether the run, or one of these phases and children, has a limit of cost."""
        return self._account(names).left("cost") is not None

    def remaining(self, name: str | None = None) -> dict[str, float | None]:
        """Return the rest of each amount, reservations not deducted; `None` for no limit.

        Args:
            name: A phase or child with limits of its own; `None` for the run.
        """
        account = self._run if name is None else self._inner[name]
        left: dict[str, float | None] = {}
        for kind in _KINDS:
            limit = account.budget.limit(kind)
            left[kind] = None if limit is None else max(0, limit - account.used(kind))
        return left

    def reserve(self, usage: WorkflowUsage, names: Iterable[str | None] = ()) -> Reservation:
        """Reserve the most that a call may use, in all of its budgets or in none.

        Args:
            usage: The amounts; 0 where the call does not know.
            names: The phase and the children that the call belongs to; those without limits of
                their own are ignored.

        Raises:
            BudgetExceeded: A budget does not have that much left.
        """
        return self._account(names).hold(usage.amounts())

    def replayed(self, usage: WorkflowUsage, names: Iterable[str | None] = ()) -> None:
        """Count the use of a recorded step; called once for each record."""
        self._account(names).spend(usage.amounts())

    def _account(self, names: Iterable[str | None]) -> Account:
        """The account of a call: all budgets that it draws on."""
        inner = [name for name in dict.fromkeys(names) if name is not None and name in self._inner]
        if not inner:
            return self._run
        self.met(inner)
        return Account.drawing_on(self._inner[name] for name in inner)
