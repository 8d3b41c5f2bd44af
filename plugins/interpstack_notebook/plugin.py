"""The hook by which code in a notebook hands over values, and calls functions of the notebook."""

from __future__ import annotations

from interpstack import BridgeRegistry, HostOffer, hookimpl
from interpstack_notebook.handover import Handover


@hookimpl
def interpstack_register_bridges(register: BridgeRegistry, offer: HostOffer) -> None:
    handover = offer.part(Handover)
    if handover is not None:
        for item in handover.bridges():
            register.bridge(item)
