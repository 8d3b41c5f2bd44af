"""Values that stay with the host: code holds handles, reads parts, and passes them on whole.

An adapter adds `interpstack_handles.api.Handles` to the parts of its offer: that part says where
handles are stored, and which answers become handles. A stack without an adapter takes such an
object as a plugin. A handle crosses as a `StandIn`, and its content never changes: the record of a
cell has ids only, and a replay has the same.
"""

from __future__ import annotations

from interpstack import (
    BridgeRegistry,
    HostOffer,
    Outcome,
    SessionView,
    StackView,
    Wrapper,
    hookimpl,
)
from interpstack_handles.api import Handles, register_source, with_kept_results


@hookimpl
def interpstack_register_bridges(
    register: BridgeRegistry, stack: StackView, offer: HostOffer
) -> None:
    register_source(register, stack.language)
    offered = offer.part(Handles)
    if offered is not None:
        offered.register(register)


@hookimpl
def interpstack_prompt_section(stack: StackView, offer: HostOffer) -> str | None:
    offered = offer.part(Handles)
    return None if offered is None else offered.prompt(stack.language)


@hookimpl
def interpstack_wrap_eval(session: SessionView) -> Wrapper[Outcome]:
    return with_kept_results
