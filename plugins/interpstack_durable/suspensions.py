"""Unfinished runs of cells, and their stored form: one JSON text."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import attrs

from interpstack import Capability, CellContext, Image, Request
from interpstack.values import from_json, to_json
from interpstack_durable.flights import Flights
from interpstack_durable.forms import VERSION
from interpstack_durable.held import HeldRequests
from interpstack_durable.journal import Journal, Suspension

__all__ = ["StoredRun", "read_suspension", "suspension_text"]


def suspension_text(suspension: Suspension) -> str:
    """The stored form."""
    told = {"version": VERSION, **to_json(suspension)}
    return json.dumps(told, separators=(",", ":"))


def read_suspension(text: str) -> Suspension | None:
    """The suspension that a text holds.

    `None` if another release wrote it, or if it is damaged: the cell can be run again.
    """
    try:
        told = json.loads(text)
        if not isinstance(told, dict) or told.pop("version", None) != VERSION:
            return None
        suspension = from_json(Suspension, told)
    except (ValueError, RecursionError):  # `ProtocolError` is a `ValueError`
        return None
    # An engine that counted on from cell to cell numbers its requests in another way now.
    return None if suspension.before else suspension


@attrs.define(eq=False, repr=False)
class StoredRun:
    """The unfinished run of a cell, as far as the engine and the journal can keep it.

    Attributes:
        journal: The journal of the cell.
        flights: Keeps the attachments of a run whose live realm the engine keeps.
        suspension: The stored run; `None` if the cell is run from its start.
    """

    journal: Journal
    flights: Flights
    suspension: Suspension | None = attrs.field(default=None, init=False)
    _suspends: bool = attrs.field(default=False, init=False)
    _parks: bool = attrs.field(default=False, init=False)
    _attached: Sequence[Any] | None = attrs.field(default=None, init=False)

    async def open(self, capabilities: Collection[Capability]) -> Image | None:
        """The image of the run, if it can be continued.

        Args:
            capabilities: The engine's capabilities.
        """
        self._parks = Capability.PARKING in capabilities
        has_images = self._parks or Capability.SUSPENSION in capabilities
        self._suspends = self.journal.suspends and has_images
        self.suspension = await self.journal.suspended() if self._suspends else None
        if self.suspension is None:
            return None
        self._attached = self.flights.take_attached(self.suspension.image)
        known = self._attached is not None or not self._parks
        return self.suspension.image if known else None

    def attach(self, context: CellContext) -> None:
        """Attach the objects again that the continued run had attached."""
        for item in self._attached or ():
            context.attach(item)

    async def suspend(self, held: HeldRequests, steps: int, asked: tuple[Request, ...]) -> None:
        """Store the run that ends now, if it can be continued; see `HeldRequests.suspension`."""
        if self._suspends:
            parked = self.flights if self._parks else None
            await held.suspend(self.journal, steps, asked, parked)
