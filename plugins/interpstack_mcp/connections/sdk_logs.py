"""Records that the MCP SDK logs about connections that were made here.

Faults of servers reach code, or are in a notice. Without a handler for logs, Python would write
each record of the SDK, with its stack, to the standard error of the host.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final

import mcp

__all__ = ["own_connection", "own_request"]

_log = logging.getLogger("interpstack.mcp")
#: The loggers of the SDK's client; its sessions have the name `client`, which a host may use, too.
_SDK_LOGS: Final = (
    "client",
    "mcp.client.auth.oauth2",
    "mcp.client.client",
    "mcp.client.session",
    "mcp.client.streamable_http",
)
_SDK_FOLDER: Final = str(Path(mcp.__file__).parent)
#: Whether the SDK works for a connection that was made here.
_own: ContextVar[bool] = ContextVar("interpstack_mcp_own_connection", default=False)


def own_connection() -> None:
    """Note that the running task, and all that it starts, hold a connection."""
    _filter()
    _own.set(True)


@contextmanager
def own_request() -> Iterator[None]:
    """A block that makes a request or logs in: the SDK does both in the context of the caller."""
    _filter()
    token = _own.set(True)
    try:
        yield
    finally:
        _own.reset(token)


def _filter() -> None:
    for name in _SDK_LOGS:
        logging.getLogger(name).addFilter(_is_left)  # which a logger has once


def _is_left(record: logging.LogRecord) -> bool:
    """Whether a record stays as it is; those of the SDK's own work become ones for debugging."""
    if not _own.get() or not record.pathname.startswith(_SDK_FOLDER):
        return True
    _log.debug("the MCP SDK logs: %s", record.getMessage(), exc_info=record.exc_info)
    return False
