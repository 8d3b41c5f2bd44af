"""Kept realms: the engine keeps the live realm of a cell that waits."""

from __future__ import annotations

import attrs
import pytest

from interpstack.contracts.engine import Execution
from interpstack.contracts.errors import ImageError
from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import Cell, Image, Request, Settlement
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import EngineKit, bridge_set, finish, poll

__all__ = ["KeptRealmTests"]


class KeptRealmTests(EngineKit, area=Area.KEPT_REALMS):
    """Tests of engines that declare `Capability.KEPT_REALMS`."""

    def test_kept_cell_goes_on_whatever_becomes_of_its_realm(self) -> None:
        image, execution, request = self._kept()
        assert execution.abort("the run is left").notifications == ()
        execution.interrupt()
        realm = self.engine.open(Limits(), bridge_set(), image)
        again = realm.resume()
        again.settle([Settlement(request.id, "42")])
        completion = poll(again).completion
        again.abort("the cell has ended")
        assert completion is not None
        assert (completion.error, completion.text) == (None, "42")
        assert finish(realm, self.guest.recall) == "42", "variables of earlier cells live on"
        realm.close()

    def test_cells_can_be_kept_several_times(self) -> None:
        with self.realm() as realm:
            execution = realm.start(Cell(source=self.guest.sequence, seed=1))
            answered = 0
            while (progress := poll(execution)).completion is None:
                (request,) = progress.requests
                image = realm.image()
                realm.close()
                realm = self.engine.open(Limits(), bridge_set(), image)
                execution = realm.resume()
                execution.settle([Settlement(request.id, "0")])
                answered += 1
            realm.close()
        assert (answered, progress.completion.text) == (6, "6 none")

    def test_kept_cell_goes_on_only_once(self) -> None:
        image, _, _ = self._kept()
        self.engine.open(Limits(), bridge_set(), image).close()
        for _ in range(2):
            with pytest.raises(ImageError):
                self.engine.open(Limits(), bridge_set(), image)

    def test_images_of_other_cells_open_none(self) -> None:
        image, _, _ = self._kept()
        for other in (attrs.evolve(image, data=b"x" * 16), attrs.evolve(image, base="kept")):
            with pytest.raises(ImageError):
                self.engine.open(Limits(), bridge_set(), other)
        self.engine.open(Limits(), bridge_set(), image).close()

    def test_only_cells_that_wait_are_kept(self) -> None:
        with self.realm() as realm:
            with pytest.raises(ImageError):
                realm.image()
            finish(realm, self.guest.store)
            with pytest.raises(ImageError):
                realm.image()

    def _kept(self) -> tuple[Image, Execution, Request]:
        """A kept cell that waits for one request, with its execution."""
        with self.realm() as realm:
            finish(realm, self.guest.store)
            execution = realm.start(Cell(source=self.guest.request, seed=1))
            (request,) = poll(execution).requests
            return realm.image(), execution, request
