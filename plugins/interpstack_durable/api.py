"""Public names of the plugin: what adapters pass to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from interpstack_durable.ledger import LedgerStore

__all__ = ["Journals", "LedgerStore"]


@attrs.frozen
class Journals:
    """Part of a `HostOffer` that makes cells durable.

    Attributes:
        store_for: Called with `Session.host` when a cell is about to run. Returns the store that
            keeps what the cell does, or `None` for a cell that need not be durable.
    """

    store_for: Callable[[Any], LedgerStore | None]
