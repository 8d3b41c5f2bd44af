"""Durable cells: run again after a pause or a crash, with nothing done twice.

The part `interpstack_durable.api.Journals` of a session's offer names the stores for its journals.
"""

from __future__ import annotations

from collections.abc import Awaitable

from interpstack import Cell, Session, hookimpl
from interpstack_durable.api import Journals
from interpstack_durable.background.cells import close_cells
from interpstack_durable.cell_journal import CellJournal
from interpstack_durable.durable_run import DurableRun
from interpstack_durable.in_flight import in_flight_of


@hookimpl
def interpstack_open_cell(session: Session, cell: Cell) -> DurableRun | None:
    journals = session.offer.part(Journals)
    store = None if journals is None else journals.store_for(session.host)
    if journals is None or store is None:
        return None
    in_flight = journals.in_flight_for(session.host)
    if in_flight is None:
        in_flight = in_flight_of(session.stack)
    time_slice, late_recorder = (
        journals.time_slice_for(session.host),
        journals.late_recorder_for(session.host),
    )
    return DurableRun(CellJournal(store, cell), in_flight, time_slice, late_recorder)


@hookimpl
def interpstack_session_closing(session: Session) -> Awaitable[None]:
    return close_cells(session)
