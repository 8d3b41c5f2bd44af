"""The time of preparing a source."""

from __future__ import annotations

import pytest

from interpstack_node.preparation import OutOfTime, PreparationClock


def test_time_runs_out() -> None:
    PreparationClock(60.0, lambda: False).pause()
    endless = PreparationClock(None, lambda: False)
    endless.pause()
    assert endless.left() is None
    with pytest.raises(OutOfTime):
        PreparationClock(0.0, lambda: False).pause()
    with pytest.raises(OutOfTime):
        PreparationClock(60.0, lambda: True).pause()
