"""Programmatic tool calling: the host's tools as functions on `tools` in the guest.

The language of the stack's engine spells their names, writes their signatures and calls them.
"""

from __future__ import annotations

from interpstack import BridgeRegistry, HostOffer, StackView, hookimpl
from interpstack_ptc.bridges import tool_bridges
from interpstack_ptc.prompt import tools_section


@hookimpl
def interpstack_register_bridges(
    register: BridgeRegistry, stack: StackView, offer: HostOffer
) -> None:
    for bridge in tool_bridges(offer.tools, stack.language):
        register.bridge(bridge)


@hookimpl
def interpstack_prompt_section(stack: StackView, offer: HostOffer) -> str | None:
    return tools_section(stack.language, offer)
