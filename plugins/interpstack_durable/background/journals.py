"""The part of an offer by which the plugin finds the journal of a cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from interpstack_durable.background.looks import Look
from interpstack_durable.cell_journal import JournalStore
from interpstack_durable.flights import Flights

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
    """

    store_for: Callable[[Any], JournalStore | None]
    flights_for: Callable[[Any], Flights | None] = lambda host: None
    look_for: Callable[[Any], Look | None] = lambda host: None
