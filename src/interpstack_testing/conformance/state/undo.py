"""Undo: the effects of a cell are taken back, so that it can be run again."""

from __future__ import annotations

import pytest

from interpstack.contracts.engine import Capability, Execution
from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import Cell, Settlement
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import EngineKit, bridge_set, finish, poll

__all__ = ["UndoTests"]


class UndoTests(EngineKit, area=Area.UNDO):
    """Tests of engines that declare `Capability.UNDO`."""

    def test_a_cell_that_waits_is_taken_back(self) -> None:
        with self.realm() as realm:
            finish(realm, self.guest.store)
            execution = realm.start(self._cell())
            assert len(poll(execution).requests) == 1
            _take_back(execution)
            assert finish(realm, self.guest.recall) == "42"

    def test_a_cell_that_has_ended_is_taken_back(self) -> None:
        with self.realm() as realm:
            finish(realm, self.guest.store)
            execution = realm.start(Cell(source=self.guest.redeclare, seed=1))
            assert poll(execution).completion is not None
            _take_back(execution)
            assert finish(realm, self.guest.recall) == "42"

    def test_a_cell_taken_back_can_be_run_again(self) -> None:
        with self.realm() as realm:
            finish(realm, self.guest.store)
            ids = []
            for _ in range(3):
                execution = realm.start(self._cell())
                (request,) = poll(execution).requests
                ids.append(request.id)
                _take_back(execution)
            execution = realm.start(self._cell())
            (request,) = poll(execution).requests
            execution.settle([Settlement(request.id, "42")])
            completion = poll(execution).completion
            execution.abort("the cell has ended")
            assert completion is not None
            assert (completion.error, completion.text) == (None, "42")
            assert ids == [request.id] * 3, "a cell that is run again makes the same requests"
            assert finish(realm, self.guest.recall) == "2"

    def test_a_resumed_cell_is_taken_back(self) -> None:
        if Capability.SUSPENSION not in self.engine.capabilities:
            pytest.skip("the engine does not declare suspension")
        with self.realm() as first:
            finish(first, self.guest.store)
            before = first.image()
            poll(first.start(self._cell()))
            image = first.image()
        second = self.engine.open(Limits(), bridge_set(), image)
        _take_back(second.resume(before))
        assert finish(second, self.guest.recall) == "42"
        second.close()

    def _cell(self) -> Cell:
        """Code that declares the variable of `recall` again, and then waits for a request."""
        return Cell(source=f"{self.guest.redeclare}\n{self.guest.request}", seed=1)


def _take_back(execution: Execution) -> None:
    execution.abort("it is to be run again")
    execution.undo()
