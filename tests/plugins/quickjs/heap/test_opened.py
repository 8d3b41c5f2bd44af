"""Images that are opened again and again."""

from __future__ import annotations

import sys

import pytest
from quickjs_realms import open_realm, run, text_of

from interpstack import Image, ImageError
from interpstack_quickjs import states
from interpstack_quickjs.guest_memory import Heap
from interpstack_quickjs.heap import opened as module
from interpstack_quickjs.heap.base import Base, base_heaps
from interpstack_quickjs.heap.images import SEAL_BYTES, sealed, unpack
from interpstack_quickjs.heap.opened import OpenedImages
from interpstack_quickjs.webassembly.templates import template_of

_MOST = 2**26
views_only = pytest.mark.skipif(sys.platform != "linux", reason="templates need Linux")


@pytest.fixture
def images() -> OpenedImages:
    return OpenedImages()


@pytest.fixture
def base() -> Base:
    return base_heaps.get(())


def _image(source: str = "var n = 1; const f = () => n; 0") -> bytes:
    realm = open_realm()
    run(realm, source)
    image = realm.image()
    realm.close()
    return image.data


def _open(images: OpenedImages, base: Base, data: bytes, times: int = 1) -> list[Heap]:
    return [images.open(base.id, base.heap, data, _MOST)[0] for _ in range(times)]


@views_only
def test_an_image_becomes_a_template_at_its_third_opening(images: OpenedImages, base: Base) -> None:
    data = _image()
    heaps = _open(images, base, data, 5)
    assert [heap.memory is base.heap.memory for heap in heaps] == [True, True, False, False, False]
    assert heaps[2] is heaps[3] is heaps[4]
    assert template_of(heaps[2].memory) is not None
    plain = unpack(data, base.heap, _MOST)[0].whole()
    assert heaps[2].memory == plain.memory
    assert heaps[2].stack_pointer == plain.stack_pointer
    assert images.open(base.id, base.heap, data, _MOST)[1] == unpack(data, base.heap, _MOST)[1]


def test_every_realm_of_such_an_image_has_variables_of_its_own(
    monkeypatch: pytest.MonkeyPatch, images: OpenedImages, base: Base
) -> None:
    monkeypatch.setattr(module, "opened_images", images)
    image = Image(states.ENGINE, base.id, _image())
    realms = [open_realm(image) for _ in range(6)]
    for number, realm in enumerate(realms):
        run(realm, f"n += {number}; 0")
    assert [text_of(realm, "f()") for realm in realms] == [str(1 + n) for n in range(6)]
    taken = [realm.image().data for realm in realms]
    for realm in realms:
        realm.close()
    assert [text_of(open_realm(Image(states.ENGINE, base.id, data)), "f()") for data in taken] == [
        str(1 + n) for n in range(6)
    ]
    assert text_of(open_realm(image), "n") == "1"


def test_an_image_of_the_same_beginning_is_checked_as_any_other(
    images: OpenedImages, base: Base
) -> None:
    data = _image()
    _open(images, base, data, 4)
    damaged = data[:-1] + bytes([data[-1] ^ 1])
    with pytest.raises(ImageError, match="checksum"):
        _open(images, base, damaged)
    forged = data[:SEAL_BYTES] + sealed(data[SEAL_BYTES:-1])[SEAL_BYTES:]
    with pytest.raises(ImageError):
        _open(images, base, forged)


def test_the_limit_of_memory_holds_for_a_known_image(images: OpenedImages, base: Base) -> None:
    data = _image()
    _open(images, base, data, 4)
    with pytest.raises(ImageError, match="allows less"):
        images.open(base.id, base.heap, data, base.heap.size - 65536)


@views_only
def test_a_template_in_use_stays_and_an_unused_one_makes_room(
    monkeypatch: pytest.MonkeyPatch, images: OpenedImages, base: Base
) -> None:
    monkeypatch.setattr(module, "_TEMPLATES", 1)
    monkeypatch.setattr(module, "_UNUSED", 8)
    first, second = _image("var a = 1; 0"), _image("var b = 2; 0")
    _open(images, base, first, 3)
    assert all(heap.memory is base.heap.memory for heap in _open(images, base, second, 3))
    memory = _open(images, base, first)[0].memory
    assert template_of(memory) is not None
    assert _open(images, base, second, 9)[-1].memory is not base.heap.memory
    assert template_of(memory) is None
    assert _open(images, base, first)[0].memory is base.heap.memory


def test_large_images_are_taken_apart_each_time(
    monkeypatch: pytest.MonkeyPatch, images: OpenedImages, base: Base
) -> None:
    monkeypatch.setattr(module, "_MAX_BYTES", base.heap.size - 1)
    assert all(heap.memory is base.heap.memory for heap in _open(images, base, _image(), 5))


def test_where_the_system_has_no_templates_images_are_taken_apart(
    monkeypatch: pytest.MonkeyPatch, images: OpenedImages, base: Base
) -> None:
    monkeypatch.setattr(module, "keep_template", lambda memory: None)
    assert all(heap.memory is base.heap.memory for heap in _open(images, base, _image(), 5))
