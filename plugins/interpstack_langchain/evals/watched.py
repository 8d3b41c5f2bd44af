"""One time slice of an eval that may be suspended, and the new part of the eval's output."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import attrs

from interpstack import Outcome
from interpstack_display.api import Attachment
from interpstack_durable.api import SeenOutput, StillRunning, TimeSlice

__all__ = ["Watched", "unseen"]


@attrs.define(eq=False, repr=False)
class Watched:
    """A time slice of an eval.

    Attributes:
        time_slice: The seconds after which the eval is suspended.
        lock: The lock on the eval, which may outlast the time slice.
        shown: Console output and attachments that the model has seen.
        heard: Parts of the console output of this time slice.
    """

    time_slice: TimeSlice
    lock: AbstractAsyncContextManager[Any]
    shown: SeenOutput
    heard: list[str] = attrs.field(factory=list)

    def suspended(self, still: StillRunning) -> Outcome:
        """Return the output of a suspended eval that the model has not seen."""
        return _new(
            Outcome(console="".join(self.heard), attachments=tuple(still.attachments)), self.shown
        )

    def unseen(self, outcome: Outcome) -> Outcome:
        """Return the outcome of an eval without the output that the model has seen."""
        return unseen(outcome, self.shown)


def unseen(outcome: Outcome, shown: SeenOutput) -> Outcome:
    """Return an outcome without the output that its reader has already seen."""
    return _new(outcome, shown) if shown.chars or shown.attached else outcome


def _new(outcome: Outcome, shown: SeenOutput) -> Outcome:
    images = [item for item in outcome.attachments if isinstance(item, Attachment)]
    others = [item for item in outcome.attachments if not isinstance(item, Attachment)]
    return attrs.evolve(
        outcome,
        console=shown.new(outcome.console),
        attachments=(*others, *shown.new_attachments(images)),
    )
