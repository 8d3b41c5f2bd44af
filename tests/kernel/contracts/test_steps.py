"""Tests of interpstack.contracts.steps: steps, and a run that nobody records."""

from __future__ import annotations

import attrs
import pytest

from interpstack import Settlement
from interpstack.contracts.steps import RunRecord, Step


def test_a_step_is_a_time_and_nothing_else_by_default() -> None:
    step = Step(now=1.5)
    assert (step.now, step.settlements, step.drawn) == (1.5, (), {})
    assert step.drawn is not Step(now=1.5).drawn  # no two steps share it


def test_a_step_cannot_be_changed() -> None:
    settlement = Settlement(id=1, text="2")
    step = Step(1.0, (settlement,), {"cpu_seconds": 0.5})
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        step.now = 2.0  # type: ignore[misc]
    assert attrs.evolve(step, now=2.0) == Step(2.0, (settlement,), {"cpu_seconds": 0.5})


async def test_without_a_record_nothing_is_stored_and_each_run_is_random() -> None:
    record = RunRecord()
    assert (record.seed, record.repeats) == (None, False)
    await record.keep_amounts({"run": 1, "number": 1, "cpu_seconds": 2.0})
    assert record.amounts() == ()
