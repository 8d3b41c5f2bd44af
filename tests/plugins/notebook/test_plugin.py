"""The plugin offers nothing outside of a notebook."""

from __future__ import annotations

from interpstack import HostOffer, InterpreterStack
from interpstack_notebook.handover import Handover


def test_only_a_notebook_offers_its_bridges() -> None:
    stack = InterpreterStack(plugins=["notebook"])
    assert list(stack.bridge_set(HostOffer())) == []
    offered = stack.bridge_set(HostOffer(parts=[Handover()]))
    assert [bridge.name for bridge in offered] == ["notebook.take"]
