"""Persistence modes `thread`, `turn` and `call`."""

from __future__ import annotations

from interpstack import Persistence, hookimpl


@hookimpl
def interpstack_register_persistence() -> list[type[Persistence]]:
    from interpstack_persistence.modes import CallMode, ThreadMode, TurnMode

    return [ThreadMode, TurnMode, CallMode]
