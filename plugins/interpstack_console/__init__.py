"""The guest's `console`: buffered there, delivered once a cell."""

from __future__ import annotations

from interpstack import BridgeRegistry, InterpreterStack, hookimpl
from interpstack_console import capture


@hookimpl
def interpstack_register_bridges(register: BridgeRegistry) -> None:
    register.source(capture.source())
    register.bridge(capture.BRIDGE)


@hookimpl
def interpstack_prompt_section(stack: InterpreterStack) -> str | None:
    return capture.prompt() if stack.engine.language == capture.LANGUAGE else None
