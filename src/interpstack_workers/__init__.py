"""Guests in workers: realms that live elsewhere, behind a link that may break at any moment.

An engine that runs another one in worker processes or on other machines brings a `Worker` and a
`Pool`. The rest is here: the messages, the service that answers them in the worker, and the realms
and executions of the host. When a worker dies, a realm is opened in another one, from its last
state or from the inputs of its cells.
"""

from __future__ import annotations

from interpstack_workers.outer import OuterEngine, load_engine
from interpstack_workers.realm import WorkerRealm
from interpstack_workers.residence import Residence
from interpstack_workers.saved_state import SavedRealm
from interpstack_workers.service import Service
from interpstack_workers.workers import (
    REFUSALS,
    Command,
    MalformedMessage,
    Overloaded,
    Pool,
    Worker,
    WorkerAnswer,
    WorkerDied,
    checked_answer,
)

__all__ = [
    "REFUSALS",
    "Command",
    "MalformedMessage",
    "OuterEngine",
    "Overloaded",
    "Pool",
    "Residence",
    "SavedRealm",
    "Service",
    "Worker",
    "WorkerAnswer",
    "WorkerDied",
    "WorkerRealm",
    "checked_answer",
    "load_engine",
]
