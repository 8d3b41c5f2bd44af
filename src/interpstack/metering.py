"""What one cell draws on the account it runs under."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import attrs

from interpstack.accounts import Account
from interpstack.cells.requests import GuestException
from interpstack.recorders import Recorder, recorders

if TYPE_CHECKING:
    from interpstack.bridges import Bridge, BridgeSet
    from interpstack.cells.outcome import Outcome
    from interpstack.ledger import Ledger, Step
    from interpstack.limits import Limits
    from interpstack.protocol import GuestError, Request, Settlement

__all__ = ["Meter"]


@attrs.frozen
class Meter:
    """Draws on an account for one cell.

    Attributes:
        account: What is drawn on.
        cell: The cell's name in it, the same in every run; empty if it has only one.
        fresh: Whether the account knows of no earlier run.
        around: Record what is drawn in the ledgers of the cells that this one runs for.
    """

    account: Account
    cell: str
    fresh: bool
    around: tuple[Recorder, ...] = ()

    @classmethod
    def begin(cls, ledger: Ledger | None, *, suspended: bool) -> Meter | None:
        """The meter of a cell that is about to run; `None` if there is no account.

        Args:
            ledger: Of the cell. Without one it is never run again, and all it does is new.
            suspended: It goes on in the middle, whatever is left.

        Raises:
            BudgetExceeded: What every cell needs is used up.
        """
        account = Account.current()
        if account is None:
            return None
        if ledger is None:
            return cls(account, "", account.admit(""), recorders())
        name, spent = f"{ledger.seed:x}", ledger.spent()
        if spent is not None:
            account.restore(spent.drawn, spent.known, spent.dearest)
        begun = suspended or spent is not None
        return cls(account, name, account.admit(name, always=begun), recorders())

    # -- time ------------------------------------------------------------------------------

    def least(self, kind: str, own: float | None) -> float | None:
        """What is left of the cell's own time, or of the account's if that is less."""
        left = self.account.left(kind)
        return own if left is None else left if own is None else min(own, left)

    def out_of_time(self, cpu: float | None, wall: float | None) -> GuestError | None:
        """The error of a cell that was stopped; `None` if its own limits were tighter.

        Args:
            cpu: What is left of the cell's own CPU time.
            wall: What is left of its own wall time.
        """
        least = min((own for own in (cpu, wall) if own is not None), default=float("inf"))
        found = None
        for kind in ("cpu_seconds", "wall_seconds"):
            left = self.account.left(kind)
            if left is not None and left <= least:
                found, least = kind, left
        return None if found is None else self.account.exceeded(found).error

    @contextmanager
    def running(self, ledger: Ledger | None) -> Iterator[None]:
        """Count the time of the block, and let the ledger know what its calls draw."""
        with ExitStack() as block:
            block.enter_context(self.account.running())
            if ledger is not None:
                block.enter_context(Recorder(self.account, ledger).recording())
            yield

    async def recorded(self) -> None:
        """Return once the cells that this one runs for know from their ledgers what was drawn."""
        for recorder in self.around:
            await recorder.save()

    # -- requests --------------------------------------------------------------------------

    def refuse(self, bridge: Bridge, request: Request) -> GuestError | None:
        """Reserve a request before it is made; the error if that cannot be."""
        try:
            self.account.reserve(_drawn(request.bridge, bridge), once=self._key(request))
        except GuestException as error:
            return attrs.evolve(error.error, data={"tool": bridge.name, **error.error.data})
        return None

    def restore(self, step: Step, asked: Iterable[Request]) -> None:
        """Count what was drawn in the run that recorded a step, if the account does not know it.

        Args:
            step: Tells what was drawn.
            asked: What had been asked for by then. All that was not refused had been drawn.
        """
        if not step.drawn:
            return
        refused = {one.id for one in step.settlements if one.refused}
        known = [self._key(request) for request in asked if request.id not in refused]
        self.account.restore(step.drawn, known)

    def told(self, bridge: Bridge | None, request: Request, settlement: Settlement) -> None:
        """Count a request whose answer is told as recorded."""
        if not settlement.refused:
            self.account.spend(_drawn(request.bridge, bridge), once=self._key(request))

    def made(self, bridges: BridgeSet, counts: Mapping[str, int]) -> None:
        """Count what was made before the cell was suspended, by bridge, refusals included."""
        if not self.fresh:
            return
        for name, count in counts.items():
            drawn = _drawn(name, bridges.get(name))
            self.account.spend({kind: count * amount for kind, amount in drawn.items()})

    def _key(self, request: Request) -> str:
        return f"{self.cell}:{request.id}" if self.cell else ""

    # -- output ----------------------------------------------------------------------------

    def output(self, outcome: Outcome, limits: Limits) -> Outcome:
        """Draw what an outcome shows; it is cut to what is left."""
        error = outcome.error
        body = outcome.text if error is None else f"{error.message}\n{error.stack}".rstrip("\n")
        sizes = [
            len(_bytes(body[: limits.result_chars])),
            len(_bytes(outcome.console[: limits.console_chars])),
        ]
        granted = int(self.account.take("output_bytes", sum(sizes)))
        if granted >= sum(sizes):
            return outcome
        # The result or the error comes first, console output gets what it leaves.
        body, console = _start(body, granted), _start(outcome.console, max(0, granted - sizes[0]))
        notice = f"{self.account.exceeded('output_bytes')}; the rest of the output is left out"
        outcome = attrs.evolve(
            outcome,
            console=console,
            console_omitted_chars=outcome.console_omitted_chars
            + len(outcome.console)
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
    """What one request draws."""
    drawn = {"requests": 1, f"tool_requests:{name}": 1}
    if bridge is not None:
        drawn[f"tool_requests:{bridge.tool or name}"] = 1
        if bridge.dispatches:
            drawn["dispatches"] = 1
    return drawn


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _start(text: str, size: int) -> str:
    """As much of a text as fits into so many bytes."""
    # Each character has a byte at least, so there is no need to encode more than that.
    return _bytes(text[:size])[:size].decode("utf-8", "ignore")
