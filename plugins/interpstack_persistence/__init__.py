"""Persistence modes `thread`, `turn` and `call`."""

from __future__ import annotations

from types import ModuleType

from interpstack import hookimpl
from interpstack_agents import Persistence


@hookimpl
def interpstack_add_hookspecs() -> ModuleType:
    from interpstack_persistence import hookspecs

    return hookspecs


@hookimpl
def interpstack_register_persistence() -> list[type[Persistence]]:
    from interpstack_persistence.modes import CallMode, ThreadMode, TurnMode

    return [ThreadMode, TurnMode, CallMode]
