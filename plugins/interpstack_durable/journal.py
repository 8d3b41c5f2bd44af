"""The journal of a cell: what its guest was told, so that another run can be told the same.

A guest's run is decided by its source, its seed, its clock and the answers it gets. A journal
keeps these. When the cell is run again, after an approval or after the process died, `JournalSteps`
tells the guest what the journal holds instead of doing the work a second time, and goes on from
there.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from interpstack import Image, Request, Step

__all__ = ["Journal", "Suspension", "UndeliveredAnswers"]


@attrs.frozen
class UndeliveredAnswers:
    """Answers that arrived before a run was left, and that were not passed to its guest.

    Attributes:
        step: Has them.
        pausing: The run was about to pause: they are not told before it has come to its pause.
    """

    step: Step
    pausing: bool


@attrs.frozen(kw_only=True)
class Suspension:
    """A cell in the middle of its run.

    Attributes:
        image: Of the realm, with the guest idle.
        steps: Steps the guest was told so far.
        asked: What the guest asked for since the last of them, in order.
        open: What was not answered.
        made: Requests made before those that are open, by bridge.
        before: 0; engines of earlier releases counted requests on from cell to cell.
        console: Console output so far, with the characters left out each time.
        cpu_seconds: Guest time used so far.
    """

    image: Image
    steps: int
    asked: tuple[Request, ...]
    open: tuple[Request, ...]
    made: Mapping[str, int]
    before: int = 0
    console: tuple[tuple[str, int], ...] = ()
    cpu_seconds: float = 0.0


class Journal(abc.ABC):
    """The record of one cell's run.

    Attributes:
        seed: For the cell, the same in every run.
        suspends: Whether a paused run is to be kept in the middle, too: to go on from there is
            faster than to run again what was run.
        first_request: The number of the cell's first request; another than 1 where an earlier
            release recorded the cell.
        pause_grace: Seconds that a pause waits for calls that are at work.
    """

    seed: int
    suspends: bool = False
    first_request: int = 1
    pause_grace: float = 5.0

    @abc.abstractmethod
    async def begin(self, now: float) -> float:
        """Read what is recorded.

        Args:
            now: The host's time.

        Returns:
            The clock of the first poll: the recorded one, or `now` if nothing is recorded.

        Raises:
            UnreadableJournal: What is recorded has a form that is not known.
        """

    @abc.abstractmethod
    def replay(self, asked: Sequence[Request]) -> Step | None:
        """The next recorded step; `None` when all that is recorded was replayed.

        Args:
            asked: What the guest asked for since the last step, in order.

        Raises:
            ReplayDivergence: At this place the recorded run asked for something else.
        """

    @abc.abstractmethod
    async def resume(self) -> None:
        """Called once all recorded steps are replayed, before a request is answered anew.

        Raises:
            BaseException: The run was paused and what it waits for is not there yet.
        """

    @abc.abstractmethod
    async def record(self, asked: Sequence[Request], step: Step) -> None:
        """Record a step before the guest is told. Returns once it is safe.

        Args:
            asked: What the guest asked for since the last step, in order.
            step: What it will be told.
        """

    @abc.abstractmethod
    async def keep(self, asked: Sequence[Request] | None, ended: Step) -> None:
        """Keep answers that the guest is not told yet; returns once they are safe.

        A pause waits for the calls that are at work, and the first may have ended long before the
        last; or the guest computes, and is told nothing before it is idle. The next step that is
        recorded has these answers, too.

        Args:
            asked: What the guest asked for since the last step, in order; `None` while it computes
                and may ask for more.
            ended: The answers.
        """

    @abc.abstractmethod
    def undelivered(self, asked: Sequence[Request]) -> UndeliveredAnswers | None:
        """What was kept and is in no recorded step; `None` if nothing is.

        Called when all recorded steps are replayed.

        Args:
            asked: What the guest asked for since the last step, in order.

        Raises:
            ReplayDivergence: The recorded run had asked for something else.
        """

    @abc.abstractmethod
    async def pause(
        self,
        asked: Sequence[Request],
        step: Step,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request] = (),
    ) -> BaseException:
        """Record a last step, and that the run cannot go on now.

        Both are recorded at once or not at all: a run that knew of the step alone would go on
        with the guest before anybody has decided.

        Args:
            asked: What the guest asked for since the last step, in order.
            step: What it will be told when the run goes on.
            paused: Requests that cannot be answered now, and what their handlers raised.
            running: Calls that are still at work. They end on their own; the next run of the cell
                takes their answers if it is in this process, else makes them again.

        Returns:
            What to raise out of `Session.eval`.
        """

    @abc.abstractmethod
    async def keep_amounts(self, record: Mapping[str, Any]) -> None:
        """Keep what a guard has counted since the last step; returns once it is safe.

        Called before what the cell's calls run, such as a subagent, acts; while other methods are
        under way, and also after a pause, by calls that are still at work.

        Args:
            record: Plain data of the guard's own form. Its items `run` and `number` identify it
                among all records of the cell.
        """

    @abc.abstractmethod
    def amounts(self) -> Sequence[Mapping[str, Any]]:
        """The records that guards kept in earlier runs, in no order."""

    async def suspend(self, suspension: Suspension) -> None:
        """Keep a run in the middle; called before its pause is recorded, if `suspends`."""
        raise NotImplementedError(f"{type(self).__name__} keeps no suspended runs")

    async def suspended(self) -> Suspension | None:
        """The run that was kept last, if `suspends`; `None` to run the cell from the start."""
        raise NotImplementedError(f"{type(self).__name__} keeps no suspended runs")

    def skip(self, steps: int) -> None:
        """Replay from after so many steps: the run goes on in the middle."""
        raise NotImplementedError(f"{type(self).__name__} keeps no suspended runs")

    @abc.abstractmethod
    def noted(self, key: str) -> Any:
        """What was noted under `key`; `None` if nothing was."""

    @abc.abstractmethod
    async def note(self, notes: Mapping[str, Any]) -> None:
        """Keep something beside the steps, such as a decision; returns once it is safe.

        Args:
            notes: Plain data, by key; a key noted before gets the new value.
        """
