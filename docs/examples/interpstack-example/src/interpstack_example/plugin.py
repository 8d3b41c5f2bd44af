"""The plugin `example`: only hook implementations, which import what they need when called."""

from __future__ import annotations

from interpstack import BridgeRegistry, Cell, InterpreterStack, Outcome, Session, hookimpl
from interpstack_agents import Persistence


@hookimpl
def interpstack_register_bridges(register: BridgeRegistry) -> None:
    from interpstack_example import progress, text

    register.bridge(text.stats)
    register.bridge(progress.BRIDGE)
    register.source(progress.source())


@hookimpl(optionalhook=True)  # the plugin `persistence` brings this hook
def interpstack_register_persistence() -> list[type[Persistence]]:
    from interpstack_example.records import PerUserMode, ReadableMode

    return [ReadableMode, PerUserMode]


@hookimpl
def interpstack_prompt_section(stack: InterpreterStack) -> str | None:
    if stack.engine.language != "javascript":
        return None
    return (
        "`await text.stats({text})` counts lines, words and characters. "
        "`progress(fraction, note)` tells the user how far the code has come."
    )


@hookimpl
def interpstack_transform_cell(cell: Cell) -> Cell | None:
    from interpstack_example.pragmas import transformed

    return transformed(cell)


@hookimpl
def interpstack_render_outcome(session: Session, outcome: Outcome) -> str | None:
    from interpstack_example.progress import rendered

    return rendered(session, outcome)
