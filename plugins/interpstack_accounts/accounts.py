"""Accounts, a tree on which cells and workflows draw amounts within the limits of budgets.

`Limits` apply to one cell. A `Budget` applies to everything that draws on its `Account`, for
example all cells of a turn. An account may have a parent: the account of a subagent has the account
of the cell that dispatched the subagent, and that of a workflow's phase has the account of the run.
An amount is drawn on an account and all of its parents, or on none of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import attrs

from interpstack import ConfigurationError
from interpstack.checks import expect
from interpstack_accounts.budgets import AmountLimits, BudgetExceeded
from interpstack_accounts.records import Spent

__all__ = ["Account", "Reservation"]

#: What is known only afterwards: while none of it is left, nothing new is begun.
_PAID: Final = ("tokens", "cost")
_TO_RUN: Final = ("cpu_seconds", "wall_seconds", *_PAID, "output_bytes")
_NOTHING: Final[Mapping[str, float]] = {}
#: Sums of costs and seconds are inexact by less than this.
_SLACK: Final = 1e-9
_current: ContextVar[Account | None] = ContextVar("interpstack_account", default=None)


def _check_amounts(amounts: Mapping[str, float]) -> None:
    for kind, amount in amounts.items():
        if isinstance(amount, bool) or not 0 <= amount < float("inf"):
            raise ConfigurationError(f"{kind} takes an amount of at least 0; got {amount!r}")


class _NoLimits(AmountLimits):
    """Limits of an account that has none of its own."""

    __slots__ = ()

    def limit(self, kind: str) -> None:
        return None


@attrs.define(eq=False, repr=False)
class _Tally:
    """Amounts drawn on one budget; guarded by the lock of the tree's root.

    Attributes:
        reserved: Amounts that calls in flight may still use.
        running: Blocks that count as wall time now.
        since: When the wall time that `used` holds was counted.
        known: Names of the requests and calls that were counted; see `once` of `Account.reserve`.
        order: The same, in order.
        under_way: Running calls, whose tokens and cost are counted at their end.
        dearest: Amounts of the most expensive call so far, by kind.
    """

    budget: AmountLimits
    name: str
    lock: threading.Lock = attrs.field(factory=threading.Lock)
    used: dict[str, float] = attrs.field(factory=dict)
    reserved: dict[str, float] = attrs.field(factory=dict)
    running: int = 0
    since: float = 0.0
    known: set[str] = attrs.field(factory=set)
    order: list[str] = attrs.field(factory=list)
    under_way: int = 0
    dearest: dict[str, float] = attrs.field(factory=dict)

    def expect(self, calls: int) -> None:
        self.under_way += calls

    def hold(self, amounts: Mapping[str, float], sign: int = 1) -> None:
        for kind, amount in amounts.items():
            self.reserved[kind] = self.reserved.get(kind, 0) + sign * amount

    def drawn(self, kind: str, now: float) -> float:
        drawn = self.used.get(kind, 0)
        if kind == "wall_seconds" and self.running:
            drawn += now - self.since
        return drawn

    def know(self, key: str) -> None:
        if key and key not in self.known:
            self.known.add(key)
            self.order.append(key)

    def all_drawn(self, now: float) -> dict[str, float]:
        kinds = {**self.used, "wall_seconds": 0} if self.running else self.used
        return {kind: amount for kind in kinds if (amount := self.drawn(kind, now))}

    def turn(self, step: int, now: float) -> None:
        self.used["wall_seconds"] = self.drawn("wall_seconds", now)
        self.running, self.since = self.running + step, now


class Account:
    """Amounts drawn on one budget. Safe to use from any thread and any event loop.

    ```python
    account = Account(Budget(requests=100))
    with account.use():
        await session.eval(first)
        await session.eval(second)
    ```

    Args:
        budget: The limits on the total amounts.
        parent: The account on which every amount is drawn as well.
        name: Name of the account, for messages.

    Raises:
        ConfigurationError: The budget or the parent is something else.
    """

    def __init__(self, budget: AmountLimits, parent: Account | None = None, name: str = "") -> None:
        expect(budget, AmountLimits, "an account takes a Budget")
        if parent is not None:
            expect(parent, Account, "an account's parent is an Account or None")
        self.budget = budget
        self.parent = parent
        self.name = name
        above = () if parent is None else parent._path  # noqa: SLF001 - of the same class
        self._path: tuple[_Tally, ...] = (_Tally(budget, name), *above)
        self._lock = self._path[-1].lock

    @classmethod
    def drawing_on(cls, accounts: Iterable[Account]) -> Account:
        """Make an account without limits that draws on several accounts of one tree.

        Args:
            accounts: At least one account; a parent that several of them have is drawn on once.

        Raises:
            ConfigurationError: The accounts belong to different trees.
        """
        together = cls(_NoLimits())
        paths = [account._path for account in accounts]  # noqa: SLF001 - of the same class
        if len({id(path[-1]) for path in paths}) != 1:
            raise ConfigurationError("an account draws on accounts of one tree; got several trees")
        above = {id(tally): tally for path in paths for tally in path[:-1]}
        together._path = (together._path[0], *above.values(), paths[0][-1])
        together._lock = paths[0][-1].lock
        return together

    @staticmethod
    def current() -> Account | None:
        """The account that the current code draws on; `None` if there is none."""
        return _current.get()

    @contextmanager
    def use(self) -> Iterator[None]:
        """Make code in the block, and everything that it starts, draw on this account."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    # -- the rest of a budget --------------------------------------------------------------

    def used(self, kind: str) -> float:
        """The amount drawn on this account and its children; for `kind` see `Budget.limit`."""
        self.budget.limit(kind)
        with self._lock:
            return self._path[0].drawn(kind, time.monotonic())

    def left(self, kind: str) -> float | None:
        """The amount that may still be drawn, here and on all parents; `None` for no limit."""
        with self._lock:
            tight = self._tightest(kind)
        return None if tight is None else tight[0]

    def exceeded(self, kind: str) -> BudgetExceeded:
        """The error to raise or report when the budget for a kind is used up.

        Raises:
            ConfigurationError: The kind has no limit.
        """
        with self._lock:
            return self._error(kind)

    # -- drawing ---------------------------------------------------------------------------

    def reserve(self, amounts: Mapping[str, float], *, once: str = "") -> None:
        """Draw an amount on this account and all its parents, before the action that needs it.

        Args:
            amounts: By kind, see `Budget.limit`.
            once: A name for the request or call. Accounts that have counted this name before draw
                nothing and refuse nothing.

        Raises:
            BudgetExceeded: One amount is more than is left, or tokens or cost are used up;
                nothing was drawn anywhere.
        """
        _check_amounts(amounts)
        with self._lock:
            if once in self._path[0].known:
                return
            for kind in _PAID:
                self._check(kind, once=once)
            for kind, amount in amounts.items():
                self._check(kind, amount, once)
            self._draw(amounts, once)

    def spend(self, amounts: Mapping[str, float], *, once: str = "", calls: int = 0) -> None:
        """Draw an amount that has already been used, even if it exceeds the budget.

        Args:
            amounts: By kind, see `Budget.limit`.
            once: See `reserve`.
            calls: Number of model calls that used the amount; see `expect`.
        """
        _check_amounts(amounts)
        with self._lock:
            self._spend(amounts, once)
            for tally in self._path if calls else ():
                for kind, amount in amounts.items():
                    tally.dearest[kind] = max(tally.dearest.get(kind, 0), amount / calls)

    def hold(self, amounts: Mapping[str, float]) -> Reservation:
        """Reserve the most that a call may use, here and on all parents, or nothing anywhere.

        A reserved amount counts as drawn until the reservation ends. So calls in flight cannot
        exceed a limit together if each reserves the most that it may use.

        Args:
            amounts: By kind, see `Budget.limit`; 0 if the amount is unknown, which needs a rest.

        Raises:
            BudgetExceeded: One amount is more than is left, or tokens or cost are used up.
        """
        _check_amounts(amounts)
        with self._lock:
            for kind, amount in {**dict.fromkeys(_PAID, 0.0), **amounts}.items():
                self._check(kind, amount)
            self._hold(amounts)
        return Reservation(self, amounts)

    def take(self, kind: str, amount: float) -> float:
        """Draw `amount`, or the rest of the budget if that is less. Returns the amount drawn."""
        _check_amounts({kind: amount})
        with self._lock:
            tight = self._tightest(kind)
            granted = amount if tight is None else min(amount, tight[0])
            self._draw({kind: granted})
            return granted

    # -- another process -------------------------------------------------------------------

    def drawn(self) -> dict[str, float]:
        """All amounts drawn on this account, by kind: plain data, to be stored for `restore`."""
        with self._lock:
            now = time.monotonic()
            return self._path[0].all_drawn(now)

    def expect(self, calls: int) -> None:
        """Count calls of models that have begun or, if the number is negative, ended.

        Their use is counted at their end. Until then, `spent` counts each of them as the most
        expensive call so far, because the actual use is lost if the process dies.
        """
        with self._lock:
            for tally in self._path:
                tally.expect(calls)

    def spent(self, *, since: int = 0) -> tuple[Spent, int]:
        """The record of this account for a journal, and the number of names in it.

        Args:
            since: Omit this number of names: an earlier record holds them.
        """
        with self._lock:
            tally = self._path[0]
            drawn = tally.all_drawn(time.monotonic())
            for kind, amount in tally.dearest.items() if tally.under_way else ():
                drawn[kind] = drawn.get(kind, 0) + tally.under_way * amount
            known = tuple(tally.order[since:])
            return Spent(drawn=drawn, known=known, dearest=dict(tally.dearest)), len(tally.order)

    def restore(
        self,
        drawn: Mapping[str, float],
        known: Iterable[str] = (),
        dearest: Mapping[str, float] = _NOTHING,
    ) -> None:
        """Count amounts that another process drew; amounts counted before change nothing.

        The amounts count on this account alone: the parents have their own records.

        Args:
            drawn: The value of `Account.drawn` in that process.
            known: Names that were counted there; see `once` of `reserve`.
            dearest: Amounts of the most expensive model call there.
        """
        _check_amounts(drawn)
        with self._lock:
            tally, now = self._path[0], time.monotonic()
            for kind, amount in drawn.items():
                tally.used[kind] = tally.used.get(kind, 0) + max(0, amount - tally.drawn(kind, now))
            for key in known:
                tally.know(key)
            for kind, amount in dearest.items():
                tally.dearest[kind] = max(tally.dearest.get(kind, 0), amount)

    # -- cells -----------------------------------------------------------------------------

    def admit(self, cell: str, *, always: bool = False) -> bool:
        """Let a cell begin; False if the cell was admitted before and now runs again.

        Args:
            cell: Name of the cell, the same in every run; empty if the cell runs only once.
            always: Admit the cell even if the budget is used up, because it is in the middle of its
                run.

        Raises:
            BudgetExceeded: A kind that every cell needs is used up.
        """
        with self._lock:
            if cell in self._path[0].known:
                return False
            for kind in () if always else _TO_RUN:
                self._check(kind)
            self._path[0].know(cell)
            return True

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of the block as wall time; blocks at the same time count once."""
        self._turn(+1)
        try:
            yield
        finally:
            self._turn(-1)

    def _turn(self, step: int) -> None:
        with self._lock:
            now = time.monotonic()
            for tally in self._path:
                tally.turn(step, now)

    # -- inside; all with the lock held, which the whole tree shares -----------------------

    def _tightest(self, kind: str, once: str = "") -> tuple[float, float, _Tally] | None:
        """The smallest rest of a kind on this account and its parents, with its limit and account.

        Accounts that have counted `once` are skipped.
        """
        found: tuple[float, float, _Tally] | None = None
        now = time.monotonic()
        for tally in self._path:
            limit = tally.budget.limit(kind)
            if limit is not None and once not in tally.known:
                left = max(0, limit - tally.drawn(kind, now) - tally.reserved.get(kind, 0))
                if found is None or left < found[0]:
                    found = left, limit, tally
        return found

    def _check(self, kind: str, amount: float = 0, once: str = "") -> None:
        tight = self._tightest(kind, once)
        if tight is not None and (tight[0] + _SLACK < amount or tight[0] <= _SLACK):
            raise self._error(kind, amount, once)

    def _error(self, kind: str, asked: float = 0, once: str = "") -> BudgetExceeded:
        tight = self._tightest(kind, once)
        if tight is None:
            raise ConfigurationError(f"{kind} has no limit in this account")
        _, limit, tally = tight
        return BudgetExceeded(
            kind,
            limit,
            tally.drawn(kind, time.monotonic()),
            reserved=tally.reserved.get(kind, 0),
            asked=asked,
            account=tally.name,
        )

    def _spend(self, amounts: Mapping[str, float], once: str = "") -> None:
        for kind in amounts:
            self.budget.limit(kind)
        if once not in self._path[0].known:
            self._draw(amounts, once)

    def _hold(self, amounts: Mapping[str, float], sign: int = 1) -> None:
        for tally in self._path:
            tally.hold(amounts, sign)

    def _draw(self, amounts: Mapping[str, float], once: str = "") -> None:
        """Draw on all accounts that do not know of it yet."""
        for tally in self._path:
            for kind, amount in amounts.items() if once not in tally.known else ():
                tally.used[kind] = tally.used.get(kind, 0) + amount
            tally.know(once)


class Reservation:
    """Amounts reserved for one call until its real use is known; made by `Account.hold`."""

    def __init__(self, account: Account, amounts: Mapping[str, float]) -> None:
        self._account = account
        self._amounts = amounts
        self._is_open = True

    def commit(self, amounts: Mapping[str, float]) -> None:
        """Draw the amounts that the call used, instead of the reserved ones.

        A second report adds to the first: use that is reported late counts, too.
        """
        _check_amounts(amounts)
        # One section: between two, the use and the reserved amounts would both count.
        with self._account._lock:  # noqa: SLF001 - the two classes are one
            self._account._spend(amounts)  # noqa: SLF001
            self._release()

    def release(self) -> None:
        """Free the reserved amounts; calling this twice is allowed."""
        with self._account._lock:  # noqa: SLF001
            self._release()

    def _release(self) -> None:
        if self._is_open:
            self._is_open = False
            self._account._hold(self._amounts, -1)  # noqa: SLF001
