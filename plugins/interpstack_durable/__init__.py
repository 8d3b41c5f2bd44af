"""Durable cells: run again after a pause or a crash, with nothing done twice.

An adapter adds `interpstack_durable.api.Journals` to the parts of its offer: that part finds the
store of the cell that is about to run.
"""

from __future__ import annotations

from interpstack import Cell, Ledger, Session, hookimpl
from interpstack_durable.api import Journals
from interpstack_durable.ledger import CellLedger


@hookimpl
def interpstack_open_cell(session: Session, cell: Cell) -> Ledger | None:
    journals = session.offer.part(Journals)
    store = None if journals is None else journals.store_for(session.host)
    if store is None:
        return None
    return CellLedger(store, cell)
