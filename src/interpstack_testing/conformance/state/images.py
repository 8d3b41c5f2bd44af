"""Images: a realm's whole state, and cells that continue in another realm."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import partial
from typing import Any, Final

import attrs
import pytest

from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.engine import Capability
from interpstack.contracts.errors import ConfigurationError, EngineFailure, ImageError
from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import Cell, Image, Settlement
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import (
    CPU_SECONDS,
    PATIENCE,
    EngineKit,
    bridge_set,
    finish,
    poll,
)

__all__ = ["ForeignImageTests", "ImageTests", "SuspensionTests"]


#: Damaged and forged images.
_ACCIDENTS: Final = 40
_FORGERIES: Final = 40


def damage(data: bytes, seed: int) -> bytes:
    """The data with some bits and bytes of it changed; never as it was."""
    chance = random.Random(seed)  # noqa: S311 - reproducible on purpose
    damaged = bytearray(data)
    while damaged == data:
        for _ in range(chance.choice((1, 1, 2, 8, 64))):
            at = chance.randrange(len(damaged))
            match chance.randrange(4):
                case 0:
                    damaged[at] ^= 1 << chance.randrange(8)
                case 1:
                    damaged[at] = chance.randrange(256)
                case 2:
                    damaged[at : at + 4] = chance.randbytes(4)
                case _:
                    other = chance.randrange(len(damaged))
                    damaged[at : at + 8] = damaged[other : other + 8]
    return bytes(damaged)


#: Bytes of memory that `Guest.hold` does not fit into.
_SMALL = 8 * 2**20


class ImageTests(EngineKit, area=Area.IMAGES):
    """Tests of engines that declare `Capability.IMAGES`."""

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

    def test_accidents_to_images_are_found(self) -> None:
        image = self._stored()
        for seed in range(_ACCIDENTS):
            damaged = attrs.evolve(image, data=damage(image.data, seed))
            with pytest.raises(ImageError):
                self.engine.open(Limits(), bridge_set(), damaged).close()

    def test_forged_images_do_no_harm(self) -> None:
        image = self._stored()
        for seed in range(_FORGERIES):
            data = self.forged(image.data, partial(damage, seed=seed))
            self.run(self._use(attrs.evolve(image, data=data)))
        with self.session() as session:
            self.eval(session, self.guest.store)
            self.assert_usable(session)

    async def _use(self, image: Image) -> None:
        """Use alleged images: the engine refuses them, or confines the effects of their cells."""
        limits = Limits(cpu_seconds=0.5, wall_seconds=PATIENCE)
        session = self.stack(limits=limits).session()
        try:
            try:
                await session.restore(image)
            except ImageError:
                return
            for source in (self.guest.recall, self.guest.print_much, self.guest.request):
                await session.eval_with_state(source)
            for ask in (session.names, session.values, session.image):
                with suppress(EngineFailure):
                    await ask()
        finally:
            await session.aclose()

    def test_images_of_another_build_are_refused(self) -> None:
        image = self._stored()
        other = Image(image.engine, image.base + "x", image.data)
        with pytest.raises(ImageError):
            self.engine.open(Limits(), bridge_set(), other)

    def test_an_image_that_does_not_fit_names_the_limit(self) -> None:
        if Capability.MEMORY_LIMIT not in self.engine.capabilities:
            pytest.skip("the engine does not declare memory-limit")
        with self.realm(Limits(memory_bytes=256 * 2**20)) as realm:
            assert "held" in finish(realm, self.sample("hold"))
            image = realm.image()
        with pytest.raises(ImageError, match=f"memory_bytes={_SMALL} .* a larger memory_bytes"):
            self.engine.open(Limits(memory_bytes=_SMALL), bridge_set(), image)

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
    """Tests of engines that declare `Capability.SUSPENSION`."""

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

    def test_forged_images_of_suspended_cells_do_no_harm(self) -> None:
        with self.realm() as first:
            (request,) = poll(first.start(Cell(source=self.guest.request, seed=1))).requests
            image = first.image()
        for seed in range(_FORGERIES):
            data = self.forged(image.data, partial(damage, seed=seed))
            with suppress(ImageError, EngineFailure, ConfigurationError):
                self._go_on(attrs.evolve(image, data=data), Settlement(request.id, "42"))

    def _go_on(self, image: Image, answer: Settlement) -> None:
        realm = self.engine.open(Limits(cpu_seconds=0.5), bridge_set(), image)
        try:
            execution = realm.resume()
            execution.settle([answer])
            if execution.poll(1e9, 0.5).completion is None:
                execution.abort("it does not end")
        finally:
            realm.close()

    def test_suspension_needs_images(self) -> None:
        assert Capability.IMAGES in self.engine.capabilities


class ForeignImageTests(EngineKit, area=Area.LIFE):
    """Required of every engine, with images or without."""

    def test_foreign_images_are_refused(self) -> None:
        name = self.engine.name
        for image in (Image("another", "base", b"data"), Image(name, "no such base", b"data")):
            with pytest.raises(ImageError):
                self.engine.open(Limits(), BridgeSet(), image)
