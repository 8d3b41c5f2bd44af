"""Files in code: the namespace `files`, whose functions read and write raw content.

An adapter adds `interpstack_files.api.Files` to the parts of its offer: that part says where the
files are, and what code may do with them. A stack without an adapter takes such an object as a
plugin. Reads and writes are requests like any other: a cell that is replayed gets the recorded
answers, although the files may have changed since.
"""

from __future__ import annotations

from interpstack import BridgeRegistry, HostOffer, StackView, hookimpl
from interpstack_files.api import Files


@hookimpl
def interpstack_register_bridges(
    register: BridgeRegistry, stack: StackView, offer: HostOffer
) -> None:
    offered = offer.part(Files)
    if offered is not None:
        offered.register(register, stack.language)


@hookimpl
def interpstack_prompt_section(stack: StackView, offer: HostOffer) -> str | None:
    offered = offer.part(Files)
    return None if offered is None else offered.prompt(stack.language)
