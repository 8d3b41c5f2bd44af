"""The journal of a cell: a record of the guest's input, from which another run can repeat the cell.

The source, the seed, the clock and the answers determine the run of a guest. A journal records
them. When the cell is run again, after an approval or after the process died, `DurableRun` passes
the recorded answers to the guest instead of doing the work a second time, and continues from there.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack import Completion, Image, InterpstackError, Request, Step

__all__ = ["Journal", "ReplayDivergence", "Suspension", "UndeliveredAnswers"]

#: Characters of a guest's error in the message.
_ERROR_CHARS: Final = 300


class ReplayDivergence(InterpstackError, RuntimeError):
    """Raised when a cell that runs again makes a call that differs from the recorded one.

    Nothing new was done. The message names both calls and the step.
    """

    def after(self, ended: Completion | None) -> ReplayDivergence:
        """Add the guest's own error to the message, if the code failed before the recorded call.

        Args:
            ended: The end of the cell's own code; `None` while it runs.
        """
        if ended is None or ended.error is None:
            return self
        own = f"{ended.error.name}: {ended.error.message[:_ERROR_CHARS]}"
        return ReplayDivergence(f"{self}; the code ended with {own}")


@attrs.frozen
class UndeliveredAnswers:
    """Undelivered answers: settlements that an earlier run recorded but did not pass to its guest.

    Attributes:
        step: A step with the answers.
        pausing: Whether the run was about to pause: the answers are then delivered after that
            pause.
        made: The number of the last request that counts in the amounts of the step, if the guest
            made others after the step before the answers; `None` if all count.
    """

    step: Step
    pausing: bool
    made: int | None = None


@attrs.frozen(kw_only=True)
class Suspension:
    """The image of an unfinished run of a cell, with its open requests.

    Attributes:
        image: The image of the realm, taken while the guest was idle.
        steps: The number of steps that the guest has received so far.
        asked: The guest's requests since the last of these steps, in order.
        open: Unanswered requests.
        made: The number of requests before the open ones, by bridge.
        console: Console output so far, with the number of omitted characters of each part.
        cpu_seconds: Guest time used so far.
    """

    image: Image
    steps: int
    asked: tuple[Request, ...]
    open: tuple[Request, ...]
    made: Mapping[str, int]
    console: tuple[tuple[str, int], ...] = ()
    cpu_seconds: float = 0.0


class Journal(abc.ABC):
    """Base class for the record of one cell's run, from which another run can repeat the cell.

    Attributes:
        seed: The seed of the cell, the same in every run.
        suspends: Whether the image of a paused run is stored as well: resuming from the image is
            faster than running the code again.
        pause_grace: Seconds that a pause waits for calls in flight.
    """

    seed: int
    suspends: bool = False
    pause_grace: float = 5.0

    @abc.abstractmethod
    async def begin(self, now: float) -> float:
        """Read the recorded entries.

        Args:
            now: The host's time.

        Returns:
            The clock of the first poll: the recorded one, or `now` if nothing is recorded.

        Raises:
            UnreadableJournal: The entries have an unknown form.
        """

    @abc.abstractmethod
    def replay(self, asked: Sequence[Request]) -> Step | None:
        """The next recorded step; `None` when all recorded steps have been replayed.

        Args:
            asked: The guest's requests since the last step, in order.

        Raises:
            ReplayDivergence: The recorded run made different requests at this step.
        """

    @abc.abstractmethod
    async def resume(self) -> None:
        """Called when all recorded steps have been replayed, before a request is made again.

        Raises:
            BaseException: The run is paused, and the decision or answer that it waits for has not
                arrived.
        """

    async def check_answers(self) -> None:  # noqa: B027 - not every journal takes answers
        """Called in place of `resume` if the record answers all requests; does nothing by default.

        Raises:
            BaseException: This resume has an answer that contradicts a recorded one.
        """

    @abc.abstractmethod
    async def record(self, asked: Sequence[Request], step: Step) -> None:
        """Record a step before it is passed to the guest. Returns once the record is safe.

        Args:
            asked: The guest's requests since the last step, in order.
            step: The step that the guest will receive.
        """

    @abc.abstractmethod
    async def keep(self, asked: Sequence[Request] | None, ended: Step) -> None:
        """Record undelivered answers. Returns once the record is safe.

        A pause waits for running calls, and the first of them may have ended long before the last.
        A computing guest receives answers only when it is idle. The next recorded step contains
        these answers again. A cell that is suspended also records the amounts that its calls in
        flight have drawn, even if there are no answers.

        Args:
            asked: The guest's requests since the last step, in order; `None` while the guest
                computes and may make more requests.
            ended: The answers, and the amounts drawn by now.
        """

    @abc.abstractmethod
    def undelivered(self, asked: Sequence[Request]) -> UndeliveredAnswers | None:
        """The recorded answers that are in no recorded step; `None` if there are none.

        Called when all recorded steps are replayed.

        Args:
            asked: The guest's requests since the last step, in order.

        Raises:
            ReplayDivergence: The recorded run had made different requests.
        """

    @abc.abstractmethod
    async def pause(
        self,
        asked: Sequence[Request],
        step: Step,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request] = (),
    ) -> BaseException:
        """Record a last step together with a pause.

        Both are recorded in one entry: a run that knew only the step would continue before the
            decision.

        Args:
            asked: The guest's requests since the last step, in order.
            step: The step that the guest will receive when the run continues.
            paused: Requests that cannot be answered now, with the exceptions of their handlers.
            running: Calls that still run. They end by themselves; the next run of the cell takes
                their answers if it is in this process, else makes the calls again.

        Returns:
            The exception to raise out of `Session.eval`.
        """

    @abc.abstractmethod
    async def keep_amounts(self, record: Mapping[str, Any]) -> None:
        """Record amounts that a guard counted since the last step; return once the record is safe.

        Called before code that the cell's calls run, such as a subagent, acts: possibly while
        another method runs, and also after a pause, by calls that still run.

        Args:
            record: Plain data of the guard's own form. Its items `run` and `number` identify it
                among all records of the cell.
        """

    @abc.abstractmethod
    def amounts(self) -> Sequence[Mapping[str, Any]]:
        """The records that guards stored in earlier runs, in no order."""

    def computed(self, times: tuple[float, float]) -> None:  # noqa: B027 - need not be recorded
        """Note the times of the guest's last computing; recorded together with its requests.

        By default, nothing is recorded.

        Args:
            times: The times at which the guest began and was done, in seconds since 1970.
        """

    async def suspend(self, suspension: Suspension) -> None:
        """Store an unfinished run; called before its pause is recorded, if `suspends` is true."""
        raise NotImplementedError(
            f"{type(self).__name__} does not store suspended runs; set `suspends` to False"
        )

    async def suspended(self) -> Suspension | None:
        """The stored unfinished run, if `suspends` is true; `None` to start the cell anew."""
        raise NotImplementedError(
            f"{type(self).__name__} does not store suspended runs; set `suspends` to False"
        )

    def skip(self, steps: int) -> None:
        """Skip this number of steps in the replay, because the run continues in the middle."""
        raise NotImplementedError(
            f"{type(self).__name__} does not store suspended runs; set `suspends` to False"
        )

    @abc.abstractmethod
    def noted(self, key: str) -> Any:
        """The note under `key`; `None` if there is none."""

    @abc.abstractmethod
    async def note(self, notes: Mapping[str, Any]) -> None:
        """Store a note beside the steps, such as a decision; return once the note is safe.

        Args:
            notes: Plain data, by key; a key noted before gets the new value.
        """
