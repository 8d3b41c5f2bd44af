"""Output that guests print, buffered in the guest and delivered once a cell.

JavaScript gets a `console`; engines of other languages deliver the output of their own print
function to the same bridge.
"""

from __future__ import annotations

from interpstack import BridgeRegistry, StackView, hookimpl
from interpstack_console import capture


@hookimpl
def interpstack_register_bridges(register: BridgeRegistry) -> None:
    register.source(capture.source())
    register.bridge(capture.BRIDGE)


@hookimpl
def interpstack_prompt_section(stack: StackView) -> str | None:
    return capture.prompt(stack.language)
