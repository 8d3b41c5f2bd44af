"""Dynamic subagents: the global `task` in the guest, which code calls as any function of the host.

An adapter that can dispatch subagents adds `interpstack_subagents.api.Subagents` to the parts of
its offer; without that part, code has no `task`.
"""

from __future__ import annotations

from interpstack import BridgeRegistry, HostOffer, InterpreterStack, hookimpl
from interpstack_subagents.api import Subagents
from interpstack_subagents.dispatch import task_bridge
from interpstack_subagents.prompt import task_section


@hookimpl
def interpstack_register_bridges(
    register: BridgeRegistry, stack: InterpreterStack, offer: HostOffer
) -> None:
    offered = offer.part(Subagents)
    if offered is not None:
        register.bridge(task_bridge(offered, stack.language))


@hookimpl
def interpstack_prompt_section(stack: InterpreterStack, offer: HostOffer) -> str | None:
    return task_section(stack.language, offer)
