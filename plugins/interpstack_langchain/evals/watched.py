"""One look at an eval that may be put aside, and the part of its output that is new."""

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
    """A look at an eval.

    Attributes:
        look: The seconds after which the eval is put aside.
        hold: The lock on the eval, which may outlast the look.
        shown: Console output and attachments that the model has seen.
        heard: Parts of the console output of this look.
    """

    look: TimeSlice
    hold: AbstractAsyncContextManager[Any]
    shown: SeenOutput
    heard: list[str] = attrs.field(factory=list)

    def aside(self, still: StillRunning) -> Outcome:
        """The output of an eval that was put aside, as far as the model has not seen it."""
        return _new(
            Outcome(console="".join(self.heard), attachments=tuple(still.attachments)), self.shown
        )

    def unseen(self, outcome: Outcome) -> Outcome:
        """The outcome of an eval without the output that the model has seen."""
        return unseen(outcome, self.shown)


def unseen(outcome: Outcome, shown: SeenOutput) -> Outcome:
    """An outcome without the output that its reader has seen, which is all of it from now on."""
    return _new(outcome, shown) if shown.chars or shown.attached else outcome


def _new(outcome: Outcome, shown: SeenOutput) -> Outcome:
    images = [item for item in outcome.attachments if isinstance(item, Attachment)]
    others = [item for item in outcome.attachments if not isinstance(item, Attachment)]
    return attrs.evolve(
        outcome,
        console=shown.new(outcome.console),
        attachments=(*others, *shown.new_attachments(images)),
    )
