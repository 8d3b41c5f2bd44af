"""Durable cells: run again after a pause or a crash, with nothing done twice.

`Turn.options["ledger_store"]` is a function that gives the `LedgerStore` of the cell that is
about to run, or `None` for a cell that need not be durable.
"""

from __future__ import annotations

from interpstack import Cell, Ledger, Session, hookimpl
from interpstack_durable.ledger import CellLedger


@hookimpl
def interpstack_open_ledger(session: Session, cell: Cell) -> Ledger | None:
    find = session.turn.options.get("ledger_store")
    store = None if find is None else find()
    if store is None:
        return None
    return CellLedger(store, cell)
