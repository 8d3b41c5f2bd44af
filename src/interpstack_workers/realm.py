"""Realms that live in workers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import attrs

from interpstack import (
    BridgeSet,
    Capability,
    Cell,
    ConfigurationError,
    EngineFailure,
    Execution,
    Image,
    Realm,
)
from interpstack_workers.execution import WorkerExecution
from interpstack_workers.messages import read_image, read_names, read_values
from interpstack_workers.residence import Residence
from interpstack_workers.saved_state import SavedRealm
from interpstack_workers.workers import Command, WorkerDied

__all__ = ["WorkerRealm"]


class WorkerRealm(Realm):
    """A realm in a worker; it is opened in another worker when that one has died.

    Args:
        residence: The place of the realm, in a worker.
    """

    starts_at_once: ClassVar[bool] = True

    def __init__(self, residence: Residence) -> None:
        self.residence = residence
        self._opened_with = residence.saved.image

    def bind(self, bridges: BridgeSet) -> None:
        self.residence.bind(bridges)

    def start(self, cell: Cell) -> Execution:
        self.residence.house(None)
        if cell.seed is None:  # else a cell that is repeated would draw another one
            cell = attrs.evolve(cell, seed=int.from_bytes(os.urandom(16)))
        return WorkerExecution(self.residence, cell)

    def resume(self, before: Image | None = None) -> Execution:
        residence, suspended = self.residence, self.residence.saved.image
        if suspended is None or self._opened_with is not suspended:
            raise ConfigurationError("no cell was running when this realm was opened")
        if before is not None:
            residence.start_from(SavedRealm(image=before))
        residence.go_on()
        execution = WorkerExecution(residence, None, suspended=suspended, before=before)
        residence.house(execution)
        return execution

    def image(self) -> Image:
        if Capability.IMAGES not in self.residence.engine.capabilities:
            return super().image()
        known = self.residence.current()
        if known is not None and known.image is not None:
            return known.image
        answer = self.residence.ask("image")
        with self.residence.checking():
            image = read_image(answer.message.get("done"), answer.attached)
        self.residence.hold(image)
        return image

    def values(self) -> Mapping[str, Any]:
        if Capability.VALUES not in self.residence.engine.capabilities:
            return super().values()
        known = self.residence.current()
        if known is not None and known.values is not None:
            return known.values
        answer = self.residence.ask("values")
        with self.residence.checking():
            return read_values(answer.message.get("done"))

    def names(self) -> Sequence[str]:
        answer = self.residence.ask("names")
        with self.residence.checking():
            return read_names(answer.message.get("done"))

    def members(self, path: Sequence[str]) -> Sequence[str]:
        answer = self.residence.ask("members", json.dumps(list(path)).encode())
        with self.residence.checking():
            return read_names(answer.message.get("done"))

    def load(self, values: Mapping[str, Any]) -> None:
        if Capability.VALUES not in self.residence.engine.capabilities:
            return super().load(values)
        self.residence.keep(self.residence.ask("load", json.dumps(dict(values)).encode()))
        return None

    def close(self) -> None:
        worker = self.residence.worker
        self.residence.detach()
        if worker is not None and not worker.busy:
            with suppress(WorkerDied, EngineFailure):  # then it is freed anyway
                message = {"do": "leave", "realm": self.residence.number}
                worker.ask(Command(message, seconds=self.residence.plain_seconds))
