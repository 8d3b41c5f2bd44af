"""Time slices of a cell in the background: a cell that waits too long is suspended, then continued.

The cell is suspended when its guest can only wait. The calls in flight continue; the guest receives
nothing before the next time slice of the cell.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final, TypeVar

import attrs

from interpstack import (
    TIMER,
    CellRun,
    ConfigurationError,
    InterpstackError,
    Request,
    Settlement,
)
from interpstack.checks import listed
from interpstack_agents import readable_arguments
from interpstack_durable.in_flight import InFlightCalls
from interpstack_durable.journal import Journal

__all__ = [
    "CellAge",
    "SeenOutput",
    "StillRunning",
    "TimeSlice",
    "check_seconds",
    "cut_off",
    "describe_request",
]

_T = TypeVar("_T")

#: The note on a cell that was suspended.
_ASIDE: Final = "aside"
#: Calls of a terminated cell that are named.
_CALLS: Final = 10
#: Characters of a call's input in its description.
_INPUT_CHARS: Final = 200


def check_seconds(value: Any, name: str) -> None:
    """Refuse anything but a number of seconds, 0 or more.

    Args:
        value: The number.
        name: The name of the argument, for the message.

    Raises:
        ConfigurationError: The value is not valid.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not value >= 0:
        raise ConfigurationError(
            f"{name} must be a number of seconds, 0 or more; got {value!r:.60}"
        )


@attrs.define(eq=False, repr=False)
class TimeSlice:
    """One time slice of a cell that runs in the background.

    Attributes:
        seconds: Seconds from now on after which the cell is suspended, as soon as its guest can
            only wait. Before that, the guest receives the answers that are ready.
        calls: The calls in flight, once the cell is suspended or paused; `None` without any.
            Record their answers until the next time slice (`InFlightCalls.record_late_results`).

    Raises:
        ConfigurationError: The number of seconds is not a number of at least 0.
    """

    seconds: float = attrs.field()
    calls: InFlightCalls | None = attrs.field(default=None, init=False)
    _until: float = attrs.field(init=False)
    _ended: Future[None] = attrs.field(factory=Future, init=False)

    @seconds.validator
    def _check(self, attribute: object, value: Any) -> None:
        check_seconds(value, "seconds")

    def __attrs_post_init__(self) -> None:
        self._until = time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """Seconds until the time slice is over; 0 once it is."""
        return 0.0 if self._ended.done() else max(0.0, self._until - time.monotonic())

    def leave(self, calls: InFlightCalls) -> None:
        """Note the calls that continue after the time slice."""
        self.calls = calls if calls.keys else None

    def cut(self) -> None:
        """End the time slice now; from any thread."""
        with suppress(InvalidStateError):  # it was cut before
            self._ended.set_result(None)

    async def within(self, waiting: Coroutine[Any, Any, bool]) -> bool:
        """The result of `waiting`; False if the time slice is cut first."""
        task = asyncio.ensure_future(waiting)
        ends: set[asyncio.Future[Any]] = {task, asyncio.wrap_future(self._ended)}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            return task.done() and task.result()
        finally:
            task.cancel()  # the other is left alone: to cancel it would end the time slice


class StillRunning(InterpstackError):
    """Raised out of `Session.eval` when a time slice is over before the cell has ended.

    Another run of the cell with the same journal continues it.

    Attributes:
        waits_for: Descriptions of the calls and timers that the guest waits for.
        attachments: Objects that bridges have attached since the cell began, in order.
    """

    def __init__(self, waits_for: Sequence[str], attachments: Sequence[Any] = ()) -> None:
        super().__init__(f"the cell still waits for {', '.join(waits_for) or 'nothing'}")
        self.waits_for = tuple(waits_for)
        self.attachments = tuple(attachments)


@attrs.define(eq=False, repr=False)
class CellAge:
    """Counts the age of a cell and of its timers, over all its time slices.

    Time between time slices counts, except while the cell waits for an approval.

    Attributes:
        due: When the open timers end, in seconds since 1970, by the ids of their requests.
    """

    due: dict[int, float] = attrs.field(factory=dict)

    @classmethod
    def of(cls, journal: Journal, run: CellRun) -> CellAge:
        """Read the age from a journal, and count it against the limit of the cell."""
        noted = journal.noted(_ASIDE)
        if noted is None:
            return cls()
        away = max(0.0, time.time() - noted["at"]) if noted["at"] is not None else 0.0
        run.clock.go_on(wall_seconds=noted["wall"] + away)
        return cls({int(number): at for number, at in noted["timers"].items()})

    async def end(self, timer: Request, left: float) -> Settlement:
        """Wait until a timer is due, which may have been started in an earlier time slice.

        Args:
            timer: The timer.
            left: Seconds of the timer, if it starts now.
        """
        due = self.due.setdefault(timer.id, time.time() + left)
        await asyncio.sleep(min(max(0.0, due - time.time()), max(0.0, left)))
        self.due.pop(timer.id, None)
        return Settlement(timer.id)

    def note(self, run: CellRun, *, counts: bool) -> Mapping[str, Any]:
        """Return the note for the next run.

        Args:
            run: The run that ends.
            counts: Whether the time until the next run counts.
        """
        still = run.requests.open
        timers = {str(number): due for number, due in self.due.items() if number in still}
        at = time.time() if counts else None
        return {_ASIDE: {"at": at, "wall": run.clock.wall_seconds, "timers": timers}}


@attrs.define(eq=False, repr=False)
class SeenOutput:
    """The output of a cell that its reader has seen.

    Attributes:
        chars: Characters of console output that were returned.
        digest: Identifies them.
        attached: The number of attachments that were returned.
    """

    chars: int = 0
    digest: str = ""
    attached: int = 0

    def new(self, console: str) -> str:
        """Return the unseen part of console output, and count it as seen.

        Args:
            console: The output of a run of the cell: from the cell's start, where the run repeats
                it, or from the start of this run.
        """
        console = console.removesuffix("\n")
        repeated = _digest(console[: self.chars]) == self.digest
        new = console[self.chars :] if repeated and self.chars else console
        if new or not self.chars:
            self.chars, self.digest = len(console), _digest(console)
        return new.removeprefix("\n")

    def new_attachments(self, attachments: Sequence[_T]) -> tuple[_T, ...]:
        """Return the unseen attachments of a cell, and count them as seen.

        Args:
            attachments: All attachments since the cell began; each run of the cell repeats them.
        """
        new = tuple(attachments[self.attached :])
        self.attached = max(self.attached, len(attachments))
        return new


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def describe_request(request: Request) -> str:
    """Describe a request that the guest waits for, to a reader."""
    if request.bridge == TIMER:
        return "a timer"
    text = readable_arguments(request)
    return f"{request.bridge}({text if len(text) <= _INPUT_CHARS else text[:_INPUT_CHARS] + '…'})"


def cut_off(running: Sequence[Request]) -> str:
    """Return the words about calls that end with a terminated cell; empty without any."""
    calls = [describe_request(request) for request in running if request.bridge != TIMER]
    if not calls:
        return ""
    return (
        f"; calls in flight were cancelled, and may have had their effects: {listed(calls, _CALLS)}"
    )
