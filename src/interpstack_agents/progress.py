"""Progress events: who calls code from code, for people who watch an agent."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import attrs

__all__ = ["ProgressEmitter"]

_T = TypeVar("_T")
_ERROR_CHARS: Final = 500
_log = logging.getLogger(__name__)


@attrs.define(eq=False, repr=False)
class ProgressEmitter:
    """A sender of progress events for one eval.

    Attributes:
        send: Receives each event. A failure of `send` is logged once and does not affect the
            described call, because the effects of the call cannot be undone.
        common: Fields of every event.
        quiet: Exceptions that are not failures of a call, such as a pause of the agent.
    """

    send: Callable[[dict[str, Any]], object] | None
    common: Mapping[str, Any] = attrs.field(factory=dict)
    quiet: tuple[type[BaseException], ...] = ()
    _failed: bool = attrs.field(default=False, init=False)

    def emit(self, event: Mapping[str, Any]) -> None:
        """Send one event."""
        if self.send is None:
            return
        try:
            self.send({**self.common, **event})
        except Exception:  # noqa: BLE001 - a listener may raise anything
            if not self._failed:
                self._failed = True
                _log.warning("progress of an eval cannot be sent: %s", self.common, exc_info=True)

    async def around(
        self, event: Mapping[str, Any], start: Mapping[str, Any], call: Awaitable[_T]
    ) -> _T:
        """Await a call, and send an event when it starts and another when it ends.

        Args:
            event: Fields that identify the call.
            start: More fields of the first event.
            call: The call.

        Returns:
            The value of the call.
        """
        self.emit({**event, "phase": "start", **start})
        begun = time.monotonic()
        try:
            value = await call
        except self.quiet:
            raise
        except Exception as error:
            said = {"duration_ms": _since(begun), "error": str(error)[:_ERROR_CHARS]}
            self.emit({**event, "phase": "error", **said})
            raise
        self.emit({**event, "phase": "complete", "duration_ms": _since(begun)})
        return value


def _since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)
