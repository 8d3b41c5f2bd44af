"""Images: a realm's whole state, and cells that go on in another realm."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack.bridges import BridgeSet
from interpstack.engine import Capability, Cell, Image, Settlement
from interpstack.errors import ImageError
from interpstack.limits import Limits
from interpstack.testing.conformance.areas import Area
from interpstack.testing.conformance.kit import CPU_SECONDS, EngineKit, bridge_set, finish, poll

__all__ = ["ForeignImageTests", "ImageTests", "SuspensionTests"]


class ImageTests(EngineKit, area=Area.IMAGES):
    """Of engines that declare `Capability.IMAGES`."""

    def test_images_restore_the_state(self) -> None:
        image = self._stored()
        for _ in range(2):  # an image can be opened more than once
            restored = self.engine.open(Limits(), bridge_set(), image)
            assert finish(restored, self.guest.recall) == "42"
            finish(restored, self.guest.redeclare)
            restored.close()

    def test_images_are_data(self, record_property: Any) -> None:
        image = self._stored()
        # An engine around another one keeps images that the other one reads, too.
        assert image.engine in self.engine.name.split(":")
        assert isinstance(image.data, bytes)
        assert image.base
        record_property("figure", f"{len(image.data)} bytes for a small state")

    def test_an_image_does_not_change_with_its_realm(self) -> None:
        with self.realm() as realm:
            finish(realm, self.guest.store)
            image = realm.image()
            finish(realm, self.guest.redeclare)
            assert finish(realm, self.guest.recall) == "2"
        restored = self.engine.open(Limits(), bridge_set(), image)
        assert finish(restored, self.guest.recall) == "42"
        restored.close()

    def test_damaged_images_are_refused(self) -> None:
        image = self._stored()
        for data in (b"", b"data", image.data[: len(image.data) // 2]):
            with pytest.raises(ImageError):
                self.engine.open(Limits(), bridge_set(), Image(image.engine, image.base, data))
        with pytest.raises(ImageError):
            self.engine.open(Limits(), bridge_set(), Image("another", image.base, image.data))

    def test_images_of_another_build_are_refused(self) -> None:
        image = self._stored()
        other = Image(image.engine, image.base + "x", image.data)
        with pytest.raises(ImageError):
            self.engine.open(Limits(), bridge_set(), other)

    def test_sessions_hibernate(self) -> None:
        async def main() -> None:
            session = self.stack().session("sleeper")
            await session.eval(self.guest.store)
            assert await session.hibernate()
            assert not session.live
            assert (await session.eval(self.guest.recall)).text == "42"
            await session.aclose()

        self.run(main())

    def _stored(self) -> Image:
        with self.realm() as realm:
            finish(realm, self.guest.store)
            return realm.image()


class SuspensionTests(EngineKit, area=Area.SUSPENSION):
    """Of engines that declare `Capability.SUSPENSION`."""

    def test_suspended_cell_goes_on_in_a_new_realm(self) -> None:
        with self.realm() as first:
            (request,) = poll(first.start(Cell(source=self.guest.request, seed=1))).requests
            image = first.image()
        second = self.engine.open(Limits(), bridge_set(), image)
        execution = second.resume()
        execution.settle([Settlement(request.id, "42")])
        completion = poll(execution).completion
        second.close()
        assert completion is not None
        assert (completion.error, completion.text) == (None, "42")

    def test_suspended_cells_go_on_where_they_were(self) -> None:
        with self.realm() as first:
            execution = first.start(Cell(source=self.guest.sequence, seed=1))
            for _ in range(3):
                (request,) = poll(execution).requests
                execution.settle([Settlement(request.id, "0")])
            (request,) = poll(execution).requests
            image = first.image()
        second = self.engine.open(Limits(), bridge_set(), image)
        execution = second.resume()
        execution.settle([Settlement(request.id, "0")])
        done = 4
        while (progress := poll(execution)).completion is None:
            (request,) = progress.requests
            execution.settle([Settlement(request.id, "0")])
            done += 1
        second.close()
        assert done == 6
        assert progress.completion.text == "6 none"

    def test_time_does_not_go_back_in_a_suspended_cell(self) -> None:
        with self.realm() as first:
            execution = first.start(Cell(source=self.sample("wait"), seed=1))
            (request,) = execution.poll(1e9, CPU_SECONDS).requests
            image = first.image()
        second = self.engine.open(Limits(), bridge_set(), image)
        execution = second.resume()
        execution.settle([Settlement(request.id, "0")])
        completion = execution.poll(1e9 + 0.25, CPU_SECONDS).completion
        second.close()
        assert completion is not None
        assert (completion.error, completion.text) == (None, "later")

    def test_suspension_needs_images(self) -> None:
        assert Capability.IMAGES in self.engine.capabilities


class ForeignImageTests(EngineKit, area=Area.LIFE):
    """Required of every engine, with images or without."""

    def test_foreign_images_are_refused(self) -> None:
        name = self.engine.name
        for image in (Image("another", "base", b"data"), Image(name, "no such base", b"data")):
            with pytest.raises(ImageError):
                self.engine.open(Limits(), BridgeSet(), image)
