"""Unfinished runs of cells, and their stored form: one JSON text."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import attrs

from interpstack import Capability, Image, ImageError, Notification, Request, run_guest
from interpstack.values import from_json, to_json
from interpstack_durable.forms import VERSION
from interpstack_durable.in_flight import InFlightRegistry
from interpstack_durable.journal import Journal, Suspension
from interpstack_durable.pending_requests import PendingRequests

__all__ = ["StoredRun", "read_suspension", "suspension_text"]


def suspension_text(suspension: Suspension) -> str:
    """Return the stored form of a suspension."""
    fields = {"version": VERSION, **to_json(suspension)}
    return json.dumps(fields, separators=(",", ":"))


def read_suspension(text: str) -> Suspension | None:
    """Read a suspension from its stored form.

    Returns:
        The suspension; `None` if another release wrote it, or if it is damaged: the cell can then
        be run from its start.
    """
    try:
        fields = json.loads(text)
        if not isinstance(fields, dict) or fields.pop("version", None) != VERSION:
            return None
        return from_json(Suspension, fields)
    except (ValueError, RecursionError):  # `ProtocolError` is a `ValueError`
        return None


@attrs.define(eq=False, repr=False)
class StoredRun:
    """The unfinished run of a cell, as far as the engine and the journal can keep it.

    Attributes:
        journal: The journal of the cell.
        in_flight: Keeps the attachments of a run whose live realm the engine keeps.
        suspension: The stored run; `None` if the cell is run from its start.
    """

    journal: Journal
    in_flight: InFlightRegistry
    suspension: Suspension | None = attrs.field(default=None, init=False)
    _suspends: bool = attrs.field(default=False, init=False)
    _keeps_realm: bool = attrs.field(default=False, init=False)
    _attached: Sequence[Any] | None = attrs.field(default=None, init=False)

    async def open(self, capabilities: Collection[Capability]) -> Image | None:
        """Return the image of the run, if the run can be continued.

        Args:
            capabilities: The engine's capabilities.
        """
        self._keeps_realm = Capability.KEPT_REALMS in capabilities
        has_images = self._keeps_realm or Capability.SUSPENSION in capabilities
        self._suspends = self.journal.suspends and has_images
        self.suspension = await self.journal.suspended() if self._suspends else None
        if self.suspension is None:
            return None
        self._attached = self.in_flight.take_attached(self.suspension.image)
        known = self._attached is not None or not self._keeps_realm
        return self.suspension.image if known else None

    def go_on(self, pending: PendingRequests) -> None:
        """Continue the stored run: its open requests become unstarted, as if just made."""
        suspension, run = self.suspension, pending.run
        if suspension is None:
            return
        run.clock.go_on(cpu_seconds=suspension.cpu_seconds)
        run.requests.counts.restore(suspension.made)
        for request in suspension.open:
            run.requests.counts.let_in(request)
            pending.unstarted[request.id] = request
        for text, omitted in suspension.console:
            run.context.write_console(text, omitted)
        for item in self._attached or ():
            run.context.attach(item)

    async def suspend(self, pending: PendingRequests, steps: int, asked: Sequence[Request]) -> None:
        """Store the run that ends now, if engine and journal can, and if it has a stored form.

        A run that has its result has none, nor one with attachments, unless the engine keeps the
        live realm: then the attachments stay in the memory of the process, too. What undelivered
        requests have added is left out, if the next run repeats it with their answers.

        Args:
            pending: The requests of the run.
            steps: The number of steps that the guest has received.
            asked: Requests that the guest made since the last of them.
        """
        run = pending.run
        if not self._suspends or run.answered:
            return
        waiting = pending.undelivered.values()
        repeated = {one.id for one in waiting if run.repeats(Notification(one.bridge, one.wire))}
        console, attached = run.context.added(without=repeated)
        if attached and not self._keeps_realm:
            return
        try:
            image = await run_guest(run.realm.image, lambda: None)
        except ImageError:
            return  # the guest is not in a state from which it could continue
        if self._keeps_realm:
            self.in_flight.keep_attached(image, attached)
        suspension = Suspension(
            image=image,
            steps=steps,
            asked=tuple(asked),
            open=tuple(pending.undelivered.values()),
            made=pending.made,
            console=console,
            cpu_seconds=run.clock.cpu_seconds,
        )
        await self.journal.suspend(suspension)
