"""Tests of interpstack.contracts.extensions: a guard that defines nothing."""

from __future__ import annotations

import attrs
import pytest

from interpstack import Bridge, Cell, CellExtension, CellGuard, Limits, Outcome, Request
from interpstack.contracts.steps import RunRecord


async def _handler() -> None: ...


async def test_it_allows_everything_and_counts_nothing() -> None:
    guard = CellGuard()
    assert isinstance(guard, CellExtension)
    guard.begin(Cell(source="1"), RunRecord(), resumed=False)
    with guard.running():
        assert guard.allowance("cpu_seconds") is None
        assert guard.exceeded(1.0, None) is None
        assert guard.admit(Bridge(name="a", handler=_handler), Request(1, "a", {})) is None
        await guard.before_call()
        guard.computed(1.0)
    assert guard.amounts() == {}


def test_it_leaves_the_outcome_and_exceptions_alone() -> None:
    outcome = Outcome(text="1")
    assert CellGuard().finish(outcome, Limits()) is outcome
    with pytest.raises(KeyError), CellGuard().running():
        raise KeyError


def test_a_record_that_nobody_opened_is_empty() -> None:
    assert RunRecord().amounts() == ()
    assert (RunRecord.seed, RunRecord.repeats) == (None, False)
    assert attrs.has(Outcome)
