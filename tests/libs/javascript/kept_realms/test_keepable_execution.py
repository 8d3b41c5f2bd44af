"""Runs of cells that can be kept."""

from __future__ import annotations

from typing import Any

from interpstack import Cell, Progress
from interpstack_javascript.kept_realms.keepable_execution import KeepableExecution
from interpstack_javascript.modules import ModuleTable


class Run(KeepableExecution):
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


def test_a_kept_run_has_no_listener_and_can_go_on() -> None:
    run = Run(Cell(source="1"), ModuleTable(), "cell")
    assert not run._kept
    run.keep()
    assert (run._kept, run.unheard) == (True, 1)
    run.go_on()
    assert (run._kept, run.unheard) == (False, 1)
