"""Variables with the names of bridges that were offered earlier."""

from __future__ import annotations

from interpstack import Bridge, BridgeSet, Cell, Limits
from interpstack_monty.engine import MontyEngine


def test_a_variable_with_the_name_of_an_earlier_bridge_is_carried() -> None:
    offered = BridgeSet({"kit.f": Bridge(name="kit.f", handler=lambda: 1)})
    realm = MontyEngine().open(Limits(), offered)
    assert realm.start(Cell(source="n = 1")).poll(1.0, 5.0).completion is not None
    assert realm.values() == {"n": 1}
    realm.bind(BridgeSet({}))
    assert realm.start(Cell(source="n = 2")).poll(1.0, 5.0).completion is not None
    assert realm.values() == {"n": 2}
    assert realm.start(Cell(source="kit = 6")).poll(1.0, 5.0).completion is not None
    assert realm.values() == {"n": 2, "kit": 6}
    realm.bind(offered)
    assert realm.start(Cell(source="n = 3")).poll(1.0, 5.0).completion is not None
    assert realm.values() == {"n": 3}
    realm.close()
