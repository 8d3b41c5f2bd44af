"""States that a realm of QuickJS begins with."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from quickjs_realms import LIMITS, offer, open_realm, run, text_of

from interpstack import (
    Bridge,
    BridgeRegistry,
    BridgeSet,
    Image,
    ImageError,
    Limits,
)
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.heap import opened
from interpstack_quickjs.heap.base import Base, base_heaps
from interpstack_quickjs.states import fresh_state, state_of


def test_a_restored_guest_knows_its_bridges_and_limits() -> None:
    first = open_realm()
    run(first, "const kept = host.get; 0")
    image = first.image()
    again = open_realm(image)
    assert again.image().data == image.data  # it was not told anew
    assert text_of(again, "[kept === host.get, typeof host.other]") == '[true, "function"]'
    fewer = BridgeRegistry([Bridge(name="tools.x", handler=lambda value: value, raw=True)])
    other = QuickJSEngine().open(LIMITS, fewer.freeze(), image)
    assert text_of(other, "[typeof host, typeof tools.x]") == '["undefined", "function"]'
    short = QuickJSEngine().open(attrs.evolve(LIMITS, console_chars=10), offer(), image)
    assert short.image().data != image.data
    for realm in (first, again, other, short):
        realm.close()


@pytest.fixture
def base() -> Base:
    return base_heaps.get(())


def _image(**changes: Any) -> Image:
    realm = QuickJSEngine().open(LIMITS, BridgeSet())
    image = realm.image()
    realm.close()
    return attrs.evolve(image, **changes)


def test_a_new_realm_begins_with_the_base_heap_or_a_bound_one(base: Base) -> None:
    offered = BridgeSet(error_names={"ModuleNotFound": "StatesTest"})
    fresh = fresh_state(base, offered, LIMITS)
    assert (fresh.heap is base.heap, fresh.bound, fresh.cell, fresh.is_fresh) == (
        True,
        "",
        None,
        True,
    )
    for _ in range(2):
        QuickJSEngine().open(LIMITS, offered).close()
    bound = fresh_state(base, offered, LIMITS)
    assert bound.heap is not base.heap
    assert (len(bound.bound), bound.is_fresh) == (32, True)
    other = fresh_state(base, offered, attrs.evolve(LIMITS, console_chars=11))
    assert other.heap is base.heap


def test_an_image_of_another_engine_or_build_is_refused(base: Base) -> None:
    text = "the image was made by engine 'monty'; 'quickjs' cannot open it"
    with pytest.raises(ImageError, match=text):
        state_of(_image(engine="monty"), base, LIMITS)
    with pytest.raises(ImageError, match="another build of the engine or its plugins"):
        state_of(_image(base="0" * 32), base, LIMITS)


@pytest.mark.parametrize(
    ("extra", "found"),
    [({"cell": 5}, "its cell has no name"), ({"cell": ["x"]}, "no name"), ({"modules": "x"}, "")],
)
def test_what_is_said_of_the_cell_is_checked(
    base: Base, monkeypatch: pytest.MonkeyPatch, extra: dict[str, Any], found: str
) -> None:
    monkeypatch.setattr(opened, "opened_images", opened.OpenedImages())
    monkeypatch.setattr(opened, "unpack", lambda data, heap, most, apart: (base.heap, extra))
    with pytest.raises(ImageError, match=f"the image is damaged: .*{found}"):
        state_of(_image(), base, LIMITS)


def test_an_image_has_its_cell_its_offer_and_has_run_code(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = {"cell": "cell 3", "bound": "abc"}
    monkeypatch.setattr(opened, "opened_images", opened.OpenedImages())
    monkeypatch.setattr(opened, "unpack", lambda data, heap, most, apart: (base.heap, extra))
    state = state_of(_image(), base, LIMITS)
    assert (state.cell, state.bound, state.is_fresh) == ("cell 3", "abc", False)


@pytest.mark.parametrize(
    ("memory", "most"), [(None, 2**32 - 2**16), (2**40, 2**32 - 2**16), (2**23, 2**23)]
)
def test_an_image_may_be_as_large_as_the_memory(
    base: Base, monkeypatch: pytest.MonkeyPatch, memory: int | None, most: int
) -> None:
    asked: list[int] = []

    def unpack(data: bytes, heap: Any, largest: int, apart: bool) -> Any:
        asked.append(largest)
        return base.heap, {}

    monkeypatch.setattr(opened, "opened_images", opened.OpenedImages())
    monkeypatch.setattr(opened, "unpack", unpack)
    state_of(_image(), base, Limits(memory_bytes=memory))
    assert asked == [most]
