"""Programmatic tool calling: the host's tools as `tools.<camelCase>(input)` in the guest."""

from __future__ import annotations

from interpstack import BridgeRegistry, InterpreterStack, Turn, hookimpl


@hookimpl
def interpstack_register_bridges(register: BridgeRegistry, turn: Turn) -> None:
    from interpstack_ptc.bridges import tool_bridges

    for bridge in tool_bridges(turn.tools):
        register.bridge(bridge)


@hookimpl
def interpstack_prompt_section(stack: InterpreterStack, turn: Turn) -> str | None:
    from interpstack_ptc.prompt import tools_section

    return tools_section(stack.engine.language, turn)
