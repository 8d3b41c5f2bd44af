"""The part of an offer by which the plugin finds the journal of a cell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from interpstack_durable.background.time_slices import TimeSlice
from interpstack_durable.cell_journal import JournalStore
from interpstack_durable.in_flight import InFlightCalls, InFlightRegistry

__all__ = ["Journals"]


@attrs.frozen
class Journals:
    """Part of a `HostOffer` that makes cells durable.

    Attributes:
        store_for: Called with `Session.host` when a cell is about to run. Returns the store for the
            cell's journal, or `None` for a cell that need not be durable.
        in_flight_for: Called with `Session.host`, too. Returns the registry of calls that outlast a
            pause, from which another run of the cell takes them. By default, each stack has one.
        time_slice_for: Called with `Session.host`, too. Returns the time slice of a cell that runs
            in the background; `None`, the default, for a cell that runs to its end.
        late_recorder_for: Called with `Session.host`, too. Returns a function that is awaited with
            the calls that a pause leaves running, and again when a later run ends without their
            late results, so that the host records these in a task of its own
            (`InFlightCalls.record_late_results`). By default, only the next run of the cell records
            them.
    """

    store_for: Callable[[Any], JournalStore | None]
    in_flight_for: Callable[[Any], InFlightRegistry | None] = lambda host: None
    time_slice_for: Callable[[Any], TimeSlice | None] = lambda host: None
    late_recorder_for: Callable[[Any], Callable[[InFlightCalls], Awaitable[None]] | None] = (
        lambda host: None
    )
