"""Images and files that code shows to the reader of its outcome, with `display`.

Each shown value becomes an `Attachment` of the outcome. The class, the limits and a plugin object
with other limits are in `interpstack_display.api`.
"""

from __future__ import annotations

from interpstack import BridgeRegistry, Outcome, SessionView, StackView, hookimpl
from interpstack_display.api import Display

_PLUGIN = Display()


@hookimpl
def interpstack_register_bridges(register: BridgeRegistry, stack: StackView) -> None:
    _PLUGIN.interpstack_register_bridges(register, stack)


@hookimpl
def interpstack_prompt_section(stack: StackView) -> str | None:
    return _PLUGIN.interpstack_prompt_section(stack)


@hookimpl
def interpstack_render_outcome(session: SessionView, outcome: Outcome) -> str | None:
    return _PLUGIN.interpstack_render_outcome(session, outcome)
