"""Servers over HTTP whose clients without credentials cannot shut out the others.

A server of asyncio holds a connection for as long as its client does, and its limit counts
connections, so 256 clients that send nothing would end the service for everybody. Limits by address
were no remedy: on the loopback address all clients have the same one.
"""

from __future__ import annotations

from interpstack_http.connections import BACKLOG, CONCURRENCY, Admission, served_connections

__all__ = ["BACKLOG", "CONCURRENCY", "Admission", "served_connections"]
