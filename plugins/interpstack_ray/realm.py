"""Realms that live in actors, placed by the keys of their sessions."""

from __future__ import annotations

from interpstack import Cell, Execution
from interpstack_ray.placement import key_of_session
from interpstack_workers import WorkerRealm

__all__ = ["ActorRealm"]


class ActorRealm(WorkerRealm):
    """A realm in an actor."""

    def start(self, cell: Cell) -> Execution:
        self.residence.place_by(key_of_session.get())
        return super().start(cell)
