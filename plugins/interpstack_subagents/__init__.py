"""Dynamic subagents: the global `task({description, subagentType, …})` in the guest.

An adapter that can dispatch subagents puts a `dispatch` function into `Turn.options`; see
`interpstack_subagents.dispatch` for what it is given.
"""

from __future__ import annotations

from interpstack import BridgeRegistry, InterpreterStack, Turn, hookimpl
from interpstack_subagents.dispatch import task_bridge
from interpstack_subagents.prompt import task_section


@hookimpl
def interpstack_register_bridges(
    register: BridgeRegistry, stack: InterpreterStack, turn: Turn
) -> None:
    bridge = task_bridge(turn.options, stack.engine.language)
    if bridge is not None:
        register.bridge(bridge)


@hookimpl
def interpstack_prompt_section(stack: InterpreterStack, turn: Turn) -> str | None:
    return task_section(stack.engine.language, turn)
