"""Programmatic tool calling: the host's tools as functions on `tools` in the guest.

JavaScript calls them in camel case with one object, Python by their own names with keywords.
"""

from __future__ import annotations

from interpstack import BridgeRegistry, HostOffer, InterpreterStack, hookimpl
from interpstack_ptc.bridges import tool_bridges
from interpstack_ptc.prompt import tools_section


@hookimpl
def interpstack_register_bridges(
    register: BridgeRegistry, stack: InterpreterStack, offer: HostOffer
) -> None:
    for bridge in tool_bridges(offer.tools, stack.engine.language):
        register.bridge(bridge)


@hookimpl
def interpstack_prompt_section(stack: InterpreterStack, offer: HostOffer) -> str | None:
    return tools_section(stack.engine.language, offer)
