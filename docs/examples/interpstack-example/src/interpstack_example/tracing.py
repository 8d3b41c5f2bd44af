"""The plugin `tracing`: one log record for each session, eval and request.

A request that is made is traced by a wrapper. One that a journal answers makes no call, so no
wrapper surrounds it: a guard sees it, and its record says that it was replayed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from interpstack import (
    Bridge,
    Cell,
    CellGuard,
    Outcome,
    Request,
    Session,
    Settlement,
    Wrapper,
    hookimpl,
)

__all__ = ["LOG"]

LOG = logging.getLogger("interpstack_example.tracing")


@hookimpl
def interpstack_session_opened(session: Session) -> None:
    LOG.info("session %s opened", session.key)


@hookimpl
def interpstack_session_closing(session: Session) -> None:
    LOG.info("session %s closing after %d cells", session.key, session.cells)


@hookimpl
def interpstack_wrap_eval(session: Session, cell: Cell) -> Wrapper[Outcome] | None:
    async def trace(run: Callable[[], Awaitable[Outcome]]) -> Outcome:
        begun = time.monotonic()
        try:
            outcome = await run()
        except BaseException as error:
            _note(begun, "eval of %s left: %s", session.key, type(error).__name__)
            raise
        _note(begun, "eval of %s %s", session.key, "ended" if outcome.ok else "failed")
        return outcome

    return trace if LOG.isEnabledFor(logging.INFO) else None


@hookimpl
def interpstack_wrap_request(request: Request) -> Wrapper[Settlement] | None:
    async def trace(make: Callable[[], Awaitable[Settlement]]) -> Settlement:
        begun = time.monotonic()
        settlement = await make()
        _note(begun, "request %d to %s %s", request.id, request.bridge, _end(settlement))
        return settlement

    return trace if LOG.isEnabledFor(logging.INFO) else None


@hookimpl
def interpstack_open_cell() -> CellGuard:
    return _Replayed()


class _Replayed(CellGuard):
    """Traces requests that are answered from a record."""

    def replayed(self, bridge: Bridge | None, request: Request, settlement: Settlement) -> None:
        LOG.info("request %d to %s was replayed", request.id, request.bridge)


def _end(settlement: Settlement) -> str:
    if settlement.refused:
        return "was refused"
    return "was answered" if settlement.error is None else f"failed: {settlement.error.name}"


def _note(begun: float, message: str, *args: Any) -> None:
    LOG.info(message, *args, extra={"seconds": time.monotonic() - begun})
