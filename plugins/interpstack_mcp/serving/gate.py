"""The plugin of a server's stack: calls that need an approval wait for it, others are counted."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from interpstack import GuestException, Request, Session, Settlement, hookimpl
from interpstack_mcp.serving.runs import ServedCell

__all__ = ["GATE", "ApprovalGate", "shown_arguments"]

#: Characters of the arguments that a person is shown. Longer ones cannot be approved.
_SHOWN_CHARS: Final = 4000


class ApprovalGate:
    """The hooks of the plugin."""

    name = "mcp-gate"

    @hookimpl
    def interpstack_wrap_request(self, session: Session, request: Request) -> Any:
        run = session.host
        if not isinstance(run, ServedCell):
            return None

        async def gated(make: Callable[[], Awaitable[Settlement]]) -> Settlement:
            if run.needs_approval(_names(session, request)):
                try:
                    shown = shown_arguments(request.wire)
                except ValueError as error:
                    raise GuestException(
                        f"{request.bridge} was not called: {error}", rejected=True
                    ) from error
                await run.approve(request.bridge, shown)
            try:
                return await make()
            finally:
                run.called(request.bridge)

        return gated


def _names(session: Session, request: Request) -> set[str]:
    """The names of a call: of its bridge, and of the tool behind it."""
    bridge = session.stack.bridge_set(session.offer).get(request.bridge)
    return {request.bridge} if bridge is None else {request.bridge, bridge.tool or bridge.name}


def shown_arguments(arguments: Any) -> str:
    """The arguments of a call, complete: what is approved is what is done.

    Args:
        arguments: The arguments.

    Raises:
        ValueError: There are too many for a person.
    """
    text = json.dumps(arguments, ensure_ascii=True, default=repr)
    if len(text) > _SHOWN_CHARS:
        raise ValueError(
            f"it needs an approval, and its arguments have {len(text)} characters; "
            f"a person is shown at most {_SHOWN_CHARS}, so pass shorter ones"
        )
    return text


#: The plugin, as a stack takes it.
GATE: Final = ApprovalGate()
