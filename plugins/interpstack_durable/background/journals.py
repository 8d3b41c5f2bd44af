"""The part of an offer by which the plugin finds the journal of a cell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from interpstack_durable.background.looks import Look
from interpstack_durable.cell_journal import JournalStore
from interpstack_durable.flights import CallsInFlight, Flights

__all__ = ["Journals"]


@attrs.frozen
class Journals:
    """Part of a `HostOffer` that makes cells durable.

    Attributes:
        store_for: Called with `Session.host` when a cell is about to run. Returns the store for the
            cell's journal, or `None` for a cell that need not be durable.
        flights_for: Called with `Session.host`, too. Returns the place for calls that outlast a
            pause, which another run of the cell looks in. By default, each stack has one.
        look_for: Called with `Session.host`, too. Returns the look of a cell that runs in the
            background; `None`, the default, for a cell that runs to its end.
        lander_for: Called with `Session.host`, too. Returns a function that is awaited with the
            calls that a pause leaves running, and again when a later run ends without their
            answers, so that the host records these in a task of its own (`CallsInFlight.land`). By
            default, only the next run of the cell records them.
    """

    store_for: Callable[[Any], JournalStore | None]
    flights_for: Callable[[Any], Flights | None] = lambda host: None
    look_for: Callable[[Any], Look | None] = lambda host: None
    lander_for: Callable[[Any], Callable[[CallsInFlight], Awaitable[None]] | None] = lambda host: (
        None
    )
