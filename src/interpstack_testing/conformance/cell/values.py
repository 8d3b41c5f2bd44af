"""Cells: their values, and the state from one to the next."""

from __future__ import annotations

import pytest

from interpstack.contracts.errors import ConfigurationError
from interpstack.contracts.protocol import Cell
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import EngineKit, poll

__all__ = ["CellTests"]


class CellTests(EngineKit, area=Area.CELLS):
    """Required of every engine."""

    def test_last_expression_is_the_value_and_state_persists(self) -> None:
        with self.session() as session:
            session.eval_sync(self.guest.store)
            self.assert_usable(session)

    def test_names_can_be_declared_again(self) -> None:
        with self.session() as session:
            session.eval_sync(self.guest.store)
            assert session.eval_sync(self.guest.redeclare).ok
            assert self.eval(session, self.guest.recall) == "2"
            assert session.eval_sync(self.guest.store).ok
            self.assert_usable(session)

    def test_await_works_at_top_level(self) -> None:
        with self.session() as session:
            outcome = session.eval_sync(self.guest.request)
            assert (outcome.error, outcome.text) == (None, "42")
            assert outcome.usage.requests == 1

    def test_code_runs_in_the_first_poll(self) -> None:
        with self.realm() as realm:
            execution = realm.start(Cell(source=self.guest.store, seed=1))
            assert not execution.abort("it has not begun").notifications
            execution = realm.start(Cell(source=self.guest.recall, seed=1))
            completion = poll(execution).completion
            assert completion is not None
            assert completion.error is not None

    def test_foreign_language_is_refused(self) -> None:
        with self.session() as session, pytest.raises(ConfigurationError, match="klingon"):
            session.eval_sync(Cell(source=self.guest.recall, language="klingon"))

    def test_usage_is_reported(self) -> None:
        with self.session() as session:
            session.eval_sync(self.guest.store)
            usage = session.eval_sync(self.guest.parallel).usage
        assert usage.requests == 100
        assert usage.crossings >= 2
        assert 0 <= usage.cpu_seconds <= usage.wall_seconds + 1
