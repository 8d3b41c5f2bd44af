"""A guest function that waits for nothing: `progress(fraction, note)`.

The guest source in `progress.js` checks and shortens its arguments in the guest. The hidden
bridge takes what it emits and attaches it to the outcome.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

import attrs

from interpstack import Bridge, CellContext, GuestSource, Outcome, Session, render

__all__ = ["BRIDGE", "Progress", "rendered", "source"]

_OWNER: Final = "interpstack_example"


@attrs.frozen
class Progress:
    """The progress of a cell, in its own words; an attachment of the outcome."""

    fraction: float
    note: str


def _take(value: Any, context: CellContext) -> None:
    """Attach one report; what comes from a guest is checked again here.

    Raises:
        ValueError: It has another shape than `progress.js` gives it.
    """
    fraction, note = value["fraction"], value["note"]
    if not isinstance(fraction, (int, float)) or not 0 <= fraction <= 1:
        raise ValueError(f"a fraction lies between 0 and 1; got {fraction!r}")
    if not isinstance(note, str) or len(note) > 200:
        raise ValueError("a note is a text of at most 200 characters")
    context.attach(Progress(float(fraction), note))


BRIDGE: Final = Bridge(
    name="example.progress", handler=_take, owner=_OWNER, raw=True, awaited=False, hidden=True
)


def source() -> GuestSource:
    """Defines `progress` in the guest."""
    text = (files("interpstack_example") / "progress.js").read_text("utf-8")
    return GuestSource("javascript", "interpstack:example-progress", text, owner=_OWNER)


def rendered(session: Session, outcome: Outcome) -> str | None:
    """The outcome with how far its code came; `None` if it came to its end, or said nothing.

    The note is of the guest, so it goes through the renderer, which escapes it.
    """
    reports = [item for item in outcome.attachments if isinstance(item, Progress)]
    if outcome.ok or not reports:
        return None
    last = f"The code had come to {reports[-1].fraction:.0%}: {reports[-1].note}"
    limits = session.stack.limits
    return render(
        attrs.evolve(outcome, notices=(*outcome.notices, last)),
        result_chars=limits.result_chars,
        console_chars=limits.console_chars,
    )
