"""Budgets of runs: hard limits, reserved before a call and corrected after it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from interpstack import ConfigurationError
from interpstack_workflows.budgets.usage import WorkflowUsage

__all__ = ["BudgetExceeded", "BudgetLimits", "Reservation", "RunBudget"]

#: The kinds of amounts, and what of a usage counts for each.
_KINDS: Final = ("tokens", "cost", "seconds", "agents")
#: Sums of costs differ by so little.
_SLACK: Final = 1e-9


class BudgetExceeded(Exception):
    """A call would exceed a budget; nothing was called.

    Attributes:
        budget: The name of the budget: `run`, or that of a phase or a child.
        kind: The kind of amount: `tokens`, `cost`, `seconds` or `agents`.
        limit: The limit of that kind.
        spent: The amount that has been spent.
        reserved: The amount that in-flight calls may still use.
    """

    def __init__(self, budget: str, kind: str, limit: float, spent: float, reserved: float) -> None:
        in_flight = f", {reserved:g} reserved by calls in flight" if reserved else ""
        amount = f"{spent:g} of {limit:g} {kind}"
        state = f"is used up: {amount}"
        if spent + reserved < limit:
            state = f"has too little left for this call: {amount} used"
        super().__init__(f"the budget of {budget} {state}{in_flight}")
        self.budget = budget
        self.kind = kind
        self.limit = limit
        self.spent = spent
        self.reserved = reserved


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
class BudgetLimits:
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

    def to_json(self) -> dict[str, Any]:
        """Return the limits that are set, as plain JSON."""
        return attrs.asdict(self, filter=lambda _, value: value is not None)


class _Pot:
    """One budget: a limit of each kind, what is spent, and what is reserved."""

    def __init__(self, name: str, limits: BudgetLimits) -> None:
        self.name = name
        self.limits = limits
        self.is_limited = any(getattr(limits, kind) is not None for kind in _KINDS)
        self.spent = WorkflowUsage()
        self._reserved = dict.fromkeys(_KINDS, 0.0)

    def check(self, wanted: Mapping[str, float]) -> None:
        """Refuse amounts that do not fit any more.

        Raises:
            BudgetExceeded: A limit would be exceeded, or is reached already.
        """
        for kind in _KINDS:
            limit = getattr(self.limits, kind)
            if limit is None:
                continue
            spent, reserved = getattr(self.spent, kind), self._reserved[kind]
            over = spent + reserved + wanted[kind] > limit + _SLACK
            # A call that does not say what it may use needs something to be left.
            if over or (not wanted[kind] and spent + reserved >= limit - _SLACK):
                raise BudgetExceeded(self.name, kind, limit, spent, reserved)

    def reserve(self, wanted: Mapping[str, float], sign: int = 1) -> None:
        """Reserve amounts, or with -1 free them."""
        for kind in _KINDS:
            self._reserved[kind] += sign * wanted[kind]

    def add(self, usage: WorkflowUsage) -> None:
        """Count what was used."""
        self.spent = self.spent + usage


class Reservation:
    """Amounts reserved for one call until its real use is known.

    Args:
        pots: The budgets that the call draws on.
        wanted: The amounts by kind.
    """

    def __init__(self, pots: Iterable[_Pot], wanted: Mapping[str, float]) -> None:
        self._pots = tuple(pots)
        self._wanted = wanted
        self._open = True

    def commit(self, usage: WorkflowUsage) -> None:
        """Count the amounts that the call used, instead of the reserved ones.

        A second report adds to the first: use that is reported late counts, too.
        """
        self.release()
        for pot in self._pots:
            pot.add(usage)

    def release(self) -> None:
        """Free the reserved amounts; calling this twice is allowed."""
        if self._open:
            self._open = False
            for pot in self._pots:
                if pot.is_limited:
                    pot.reserve(self._wanted, -1)


class RunBudget:
    """The budget of a run, with budgets of phases and children inside it.

    Use it from one thread. A reserved amount counts as spent until `commit`, so calls that run at
    the same time cannot exceed a limit together. If every call reserves the most that it may use,
    no limit is exceeded; a call that does not know its amounts can exceed a limit by its own use.

    Args:
        limits: The limits of the run.
        inner: Limits of phases and children, by their name.
    """

    def __init__(
        self, limits: BudgetLimits, inner: Mapping[str, BudgetLimits] | None = None
    ) -> None:
        self._run = _Pot("the run", limits)
        self._inner = {name: _Pot(repr(name), each) for name, each in (inner or {}).items()}
        self._unused = set(self._inner)

    @property
    def limits(self) -> BudgetLimits:
        """The limits of the run."""
        return self._run.limits

    @property
    def used(self) -> WorkflowUsage:
        """Everything that has been spent."""
        return self._run.spent

    @property
    def total(self) -> int | None:
        """The limit in tokens; `None` for none."""
        return self._run.limits.tokens

    @property
    def spent(self) -> int:
        """The tokens that have been spent."""
        return self._run.spent.tokens

    @property
    def unused(self) -> list[str]:
        """Names with limits that no phase, child or call of the run has had, in order."""
        return sorted(self._unused)

    def met(self, names: Iterable[str | None]) -> None:
        """Note names of phases that the run has entered, or of children that it has called."""
        self._unused.difference_update(names)

    def limits_cost(self, names: Iterable[str | None] = ()) -> bool:
        """Return whether the run, or one of these phases and children, has a limit of cost."""
        return any(pot.limits.cost is not None for pot in self._pots(names))

    def remaining(self, name: str | None = None) -> dict[str, float | None]:
        """Return the rest of each amount, reservations not deducted; `None` for no limit.

        Args:
            name: A phase or child with limits of its own; `None` for the run.
        """
        pot = self._run if name is None else self._inner[name]
        left: dict[str, float | None] = {}
        for kind in _KINDS:
            limit = getattr(pot.limits, kind)
            left[kind] = None if limit is None else max(0, limit - getattr(pot.spent, kind))
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
        pots = self._pots(names)
        limited = [pot for pot in pots if pot.is_limited]
        wanted = {kind: float(getattr(usage, kind)) for kind in _KINDS} if limited else {}
        for pot in limited:
            pot.check(wanted)
        for pot in limited:
            pot.reserve(wanted)
        return Reservation(pots, wanted)

    def replayed(self, usage: WorkflowUsage, names: Iterable[str | None] = ()) -> None:
        """Count the use of a recorded step; called once for each record."""
        for pot in self._pots(names):
            pot.add(usage)

    def _pots(self, names: Iterable[str | None]) -> list[_Pot]:
        if not self._inner:
            return [self._run]
        inner = dict.fromkeys(name for name in names if name in self._inner)
        self.met(inner)
        return [self._run, *(self._inner[name] for name in inner if name is not None)]
