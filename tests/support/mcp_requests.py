"""Requests of MCP over HTTP, as a client without the SDK makes them."""

from __future__ import annotations

from typing import Any

__all__ = ["ACCEPT", "INITIALIZE"]

ACCEPT = {"Accept": "application/json, text/event-stream"}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
