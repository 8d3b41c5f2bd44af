"""Stretches of memory are taken apart once, and only if they are needed."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import BridgeSet, Cell, Limits
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.heap.stretches import Stretches
from interpstack_quickjs.webassembly.raw_calls import FAST

_PARTS = ((8, b"12345678"), (64, b"abcd"))


def test_parts_come_back() -> None:
    made = Stretches.of(_PARTS, 100)
    assert tuple(made) == tuple(Stretches(made.data, 100)) == _PARTS


@pytest.mark.parametrize("cut", range(1, 12))
def test_what_is_cut_short_is_refused(cut: int) -> None:
    with pytest.raises(ValueError, match="it is cut short"):
        iter(Stretches(Stretches.of(_PARTS, 100).data[:-cut], 100))


def test_memory_outside_is_refused() -> None:
    with pytest.raises(ValueError, match="it names memory it does not have"):
        iter(Stretches(Stretches.of(_PARTS, 100).data, 67))


def test_an_image_is_made_without_taking_its_stretches_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To take them apart and put them together again takes longer than to store them."""
    taken: list[Any] = []
    parse = Stretches._parse
    monkeypatch.setattr(Stretches, "_parse", lambda self: taken.append(self) or parse(self))
    realm = QuickJSEngine().open(Limits(), BridgeSet())
    try:
        assert realm.start(Cell(source="let kept = 1")).poll(0.0, 5.0).completion is not None
        taken.clear()
        assert realm.image().data
        assert realm.values()["kept"] == 1
        assert not taken
        assert realm.start(Cell(source="kept")).poll(0.0, 5.0).completion is not None
        # The traces that reading values left are undone, where possible by a bundle.
        assert len(taken) == (not FAST)
    finally:
        realm.close()
