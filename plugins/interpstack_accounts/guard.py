"""The guard of a cell that draws on an account."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

import attrs

from interpstack import (
    Bridge,
    BridgeSet,
    Cell,
    CellGuard,
    GuestError,
    GuestException,
    Limits,
    Outcome,
    Request,
    RunRecord,
    Seconds,
    Settlement,
    Step,
)
from interpstack_accounts.accounts import Account
from interpstack_accounts.recorders import Recorder, recorders
from interpstack_accounts.records import read_spent

__all__ = ["AccountGuard"]

_TIMES: Final[tuple[Seconds, ...]] = ("cpu_seconds", "wall_seconds")


@attrs.define(eq=False, repr=False)
class AccountGuard(CellGuard):
    """Draws on an account for one run of a cell.

    Attributes:
        account: The account on which amounts are drawn.
        cell: The cell's name in the account, the same in every run; empty for a cell that is
            never run again.
        fresh: Whether the account knows of no earlier run.
        around: Record drawn amounts in the journals of the cells that this cell runs for.
    """

    account: Account
    cell: str = attrs.field(default="", init=False)
    fresh: bool = attrs.field(default=True, init=False)
    around: tuple[Recorder, ...] = attrs.field(default=(), init=False)
    _record: RunRecord = attrs.field(factory=RunRecord, init=False)

    def begin(self, cell: Cell, record: RunRecord, *, resumed: bool) -> None:
        self._record, self.around = record, recorders()
        if not record.repeats:
            self.fresh = self.account.admit("")
            return
        self.cell = f"{cell.seed:x}"
        spent = read_spent(record.amounts())
        if spent is not None:
            self.account.restore(spent.drawn, spent.known, spent.dearest)
        begun = resumed or spent is not None
        self.fresh = self.account.admit(self.cell, always=begun)

    @contextmanager
    def running(self) -> Iterator[None]:
        with ExitStack() as block:
            block.enter_context(self.account.running())
            if self._record.repeats:
                block.enter_context(Recorder(self.account, self._record).recording())
            yield

    # -- time ------------------------------------------------------------------------------

    def allowance(self, kind: Seconds) -> float | None:
        return self.account.left(kind)

    def exceeded(self, cpu: float | None, wall: float | None) -> GuestError | None:
        least = min((own for own in (cpu, wall) if own is not None), default=float("inf"))
        found = None
        for kind in _TIMES:
            left = self.account.left(kind)
            if left is not None and left <= least:
                found, least = kind, left
        return None if found is None else self.account.exceeded(found).error

    def computed(self, seconds: float) -> None:
        self.account.spend({"cpu_seconds": seconds})

    async def before_call(self) -> None:
        for recorder in self.around:  # their journals must hold the drawn amounts before it acts
            await recorder.save()

    # -- requests --------------------------------------------------------------------------

    def admit(self, bridge: Bridge, request: Request) -> GuestError | None:
        try:
            self.account.reserve(_drawn(request.bridge, bridge), once=self._key(request))
        except GuestException as error:
            return attrs.evolve(error.error, data={"tool": bridge.name, **error.error.data})
        return None

    def restored(self, step: Step, asked: Iterable[Request]) -> None:
        if not step.drawn:
            return
        refused = {one.id for one in step.settlements if one.refused}
        known = [self._key(request) for request in asked if request.id not in refused]
        self.account.restore(step.drawn, known)

    def replayed(self, bridge: Bridge | None, request: Request, settlement: Settlement) -> None:
        if not settlement.refused:
            self.account.spend(_drawn(request.bridge, bridge), once=self._key(request))

    def resumed(self, bridges: BridgeSet, made: Mapping[str, int]) -> None:
        if not self.fresh:
            return
        total: dict[str, float] = {}
        for name, count in made.items():
            for kind, amount in _drawn(name, bridges.get(name)).items():
                total[kind] = total.get(kind, 0) + count * amount
        self.account.restore(total)  # its parents have their own records

    def amounts(self) -> Mapping[str, float]:
        return self.account.drawn()

    def _key(self, request: Request) -> str:
        return f"{self.cell}:{request.id}" if self.cell else ""

    # -- output ----------------------------------------------------------------------------

    def finish(self, outcome: Outcome, limits: Limits) -> Outcome:
        error = outcome.error
        body = outcome.text if error is None else f"{error.message}\n{error.stack}".rstrip("\n")
        sizes = [
            len(_bytes(body[: limits.result_chars])),
            len(_bytes(outcome.console[: limits.console_chars])) + len(_bytes(outcome.console_end)),
        ]
        granted = int(self.account.take("output_bytes", sum(sizes)))
        if granted >= sum(sizes):
            return outcome
        # The result or the error is drawn first; console output gets the rest.
        body, console = _start(body, granted), _start(outcome.console, max(0, granted - sizes[0]))
        notice = f"{self.account.exceeded('output_bytes')}; the rest of the output is left out"
        outcome = attrs.evolve(
            outcome,
            console=console,
            console_end="",
            console_omitted_chars=outcome.console_omitted_chars
            + len(outcome.console)
            + len(outcome.console_end)
            - len(console),
            notices=(*outcome.notices, notice),
        )
        if granted >= sizes[0]:
            return outcome
        if error is not None:
            return attrs.evolve(outcome, error=attrs.evolve(error, message=body, stack=""))
        omitted = outcome.omitted_chars + len(outcome.text) - len(body)
        return attrs.evolve(outcome, text=body, omitted_chars=omitted)


def _drawn(name: str, bridge: Bridge | None) -> dict[str, int]:
    """The amounts that one request draws."""
    drawn = {"requests": 1, f"tool_requests:{name}": 1}
    if bridge is not None:
        drawn[f"tool_requests:{bridge.tool or name}"] = 1
        if bridge.dispatches:
            drawn["dispatches"] = 1
    return drawn


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _start(text: str, size: int) -> str:
    """The start of a text that fits into a number of bytes."""
    # Each character has a byte at least, so there is no need to encode more than that.
    return _bytes(text[:size])[:size].decode("utf-8", "ignore")
