"""Runs of cells that can be parked."""

from __future__ import annotations

from typing import Any

from interpstack import Cell, Progress
from interpstack_javascript.modules import ModuleTable
from interpstack_javascript.parking.parkable_execution import ParkableExecution


class Run(ParkableExecution):
    """Counts how often its output became nobody's."""

    waits = True
    unheard = 0

    def _unheard(self) -> None:
        self.unheard += 1

    def _error(self, found: Any, place: Any) -> Any:
        raise NotImplementedError

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        return Progress()

    def abort(self, reason: str) -> Progress:
        return Progress()


def test_a_parked_run_has_no_listener_and_can_go_on() -> None:
    run = Run(Cell(source="1"), ModuleTable(), "cell")
    assert not run._parked
    run.park()
    assert (run._parked, run.unheard) == (True, 1)
    run.go_on()
    assert (run._parked, run.unheard) == (False, 1)
