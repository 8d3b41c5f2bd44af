"""The client for which a connection is made, where it is one of a person and not of code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Set
from typing import Any

import attrs
from mcp import types
from mcp.client.session import LoggingFnT

__all__ = ["ClientSide"]


@attrs.frozen(eq=False, kw_only=True)
class ClientSide:
    """A client to whom a server may turn, with notifications and with requests.

    Attributes:
        callbacks: The callbacks of the SDK's client, by their names: `sampling_callback` and so on.
            `mode` is the generation of the protocol.
        abilities: The abilities that a server is offered. The SDK would derive them from the
            callbacks, and claim more than the client has said.
        heard: Takes each notification of the server that is not a log message.
        logged: Takes each log message.
        opened: Called with each new connection, before anything else uses it.
        uris: Resources whose updates the client wants, for servers that have to be listened to.
    """

    callbacks: Mapping[str, Any]
    abilities: types.ClientCapabilities
    heard: Callable[[Any], Awaitable[None]]
    logged: LoggingFnT
    opened: Callable[[Any], Awaitable[None]]
    uris: Callable[[], Set[str]] = frozenset
