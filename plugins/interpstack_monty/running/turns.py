"""The turns of one cell: from one suspension of Monty to the next."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import attrs
import pydantic_monty
from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontyComplete, NameLookupSnapshot

from interpstack import GuestError, Settlement, UnsupportedValue
from interpstack.guests import GuestClock
from interpstack_monty.crossing.errors import thrown
from interpstack_monty.crossing.named_errors import NamedErrors
from interpstack_monty.crossing.values import answer
from interpstack_monty.running.emitted import Emitted
from interpstack_monty.running.system import ANSWERED, answer_system_call
from interpstack_monty.workers import EMIT

__all__ = ["SuspensionAnswers"]


@attrs.define(eq=False)
class SuspensionAnswers:
    """Answers a cell's suspensions, as far as the host has answered its requests.

    Attributes:
        emitted: The messages and output that the cell has emitted.
        clock: The cell's clock.
        at: The suspension where the cell stands; `None` before its begin, and in hibernation.
        named: Errors that requests of the cell were answered with.
    """

    emitted: Emitted
    clock: GuestClock = attrs.field(factory=GuestClock)
    at: pydantic_monty.SyncSnapshot | None = None
    named: NamedErrors = attrs.field(factory=NamedErrors)
    _answers: dict[int, Any] = attrs.field(factory=dict)
    _blocked: int | None = None  # the request that `time.sleep` waits for

    def settle(self, settlement: Settlement) -> None:
        """Note the answer to a request."""
        call_id = self.emitted.open.pop(settlement.id, None)
        if call_id is None:
            return
        if settlement.error is not None:
            self._answers[call_id] = thrown(settlement.error, self.named)
            return
        try:
            self._answers[call_id] = {"return_value": answer(settlement.text)}
        except UnsupportedValue as error:
            refused = GuestError("ValueError", f"the answer cannot enter the guest: {error.reason}")
            self._answers[call_id] = thrown(refused, self.named)

    def begin(self, session: pydantic_monty.MontySession, source: str) -> None:
        """Go to the first suspension of a cell."""
        self.at = session.feed_start(source, print_callback=self.emitted.print)

    def open(self, session: pydantic_monty.MontySession, snapshot: bytes) -> None:
        """Go to the suspension that was dumped."""
        self.at = session.load_snapshot(snapshot, print_callback=self.emitted.print)

    def leave(self) -> None:
        """Discard the suspension, after its worker has been returned."""
        self.at = None

    def run(self, end: float | None) -> MontyComplete | None:
        """Run until the cell has ended, waits for the host, or has used up its time.

        Monty's own clock stands still while it waits for an answer, so a guest that only asks
        has to be stopped here.

        Args:
            end: When the time is up, by `time.perf_counter`.

        Returns:
            The end of the cell; `None` if it goes on.

        Raises:
            MontyError: The cell raised it, or had to be stopped.
        """
        while not isinstance(self.at, MontyComplete):
            if self.at is None or (end is not None and time.perf_counter() > end):
                return None
            following = self._step(self.at)
            if following is None:
                return None
            self.at = following
        return self.at

    def to_data(self) -> Mapping[str, Any]:
        """Everything but the suspension, as JSON, for an image."""
        clock = [self.clock.time, self.clock.host]
        named = self.named.to_data()
        return {"blocked": self._blocked, "clock": clock, "named": named, **self.emitted.to_data()}

    def restore(self, data: Mapping[str, Any]) -> None:
        """Restore a state that `to_data` returned."""
        self.emitted.restore(data)
        self._blocked = data["blocked"]
        self.clock = GuestClock(*data.get("clock", ()))
        self.named.restore(data.get("named", ()))

    def _step(self, at: pydantic_monty.SyncSnapshot) -> pydantic_monty.SyncSnapshot | None:
        """Continue from a suspension; `None` if the suspension has to wait for the host."""
        if isinstance(at, FutureSnapshot):
            # One by one, in the order of the answers: of several at once, Monty picks any first.
            first = next((i for i in self._answers if i in at.pending_call_ids), None)
            return None if first is None else at.resume({first: self._answers.pop(first)})
        if isinstance(at, NameLookupSnapshot):
            return at.resume()
        if not isinstance(at, FunctionSnapshot):
            return None
        if self._blocked is not None:
            if self._blocked in self.emitted.open:
                return None
            self._answers.pop(at.call_id, None)
            self._blocked = None
            return at.resume({"return_value": None})
        if at.is_os_function:
            return self._system_call(at)
        if at.function_name == EMIT:
            return at.resume(self.emitted.emit(at.call_id, at.args))
        return at.resume(
            {"exc_type": "NameError", "message": f"name {at.function_name!r} is not defined"}
        )

    def _system_call(self, at: FunctionSnapshot) -> pydantic_monty.SyncSnapshot | None:
        name = str(at.function_name)
        if name in ("asyncio.sleep", "time.sleep"):
            answer, request = self.emitted.sleep(at.call_id, at.args)
            if name == "time.sleep" and request is not None:
                self._blocked = request
                return None
            return at.resume(answer)
        if name not in ANSWERED:  # its arguments may be anything, and take long to convert
            return at.resume_not_handled()
        return at.resume(answer_system_call(name, at.args, self.clock))
