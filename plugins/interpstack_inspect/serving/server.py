"""The server on the loopback address."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

import uvicorn

from interpstack import ConfigurationError
from interpstack_http import BACKLOG, CONCURRENCY, served_connections
from interpstack_inspect.contract.source import RunSource
from interpstack_inspect.serving.gate import OPEN_PATH
from interpstack_inspect.serving.pages import inspector
from interpstack_inspect.serving.visitors import Visitors

__all__ = ["serve"]

_HOST: Final = "127.0.0.1"
#: Seconds that open requests get at the end.
_GRACE_SECONDS: Final = 2


async def serve(source: RunSource, port: int, announce: Callable[[str], object]) -> None:
    """Serve the pages of a source until the process receives a signal to end.

    Args:
        source: The source, which is closed at the end.
        port: The port of the loopback address; 0 for a free one.
        announce: Called with each link, which opens one browser; the next one follows when a link
            was used.

    Raises:
        ConfigurationError: The port cannot be bound.
    """
    try:
        await source.open()
        with _bound(port) as bound:
            address = f"http://{_HOST}:{bound.getsockname()[1]}{OPEN_PATH}"
            visitors = Visitors(lambda token: announce(f"{address}?token={token}"))
            config = uvicorn.Config(
                inspector(source, visitors),
                lifespan="off",
                log_level="error",  # strangers can cause any number of warnings
                http=served_connections(),
                ws="none",
                limit_concurrency=CONCURRENCY,
                backlog=BACKLOG,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
            visitors.open()
            await uvicorn.Server(config).serve(sockets=[bound])
    finally:
        await source.aclose()


def _bound(port: int) -> socket.socket:
    try:
        return socket.create_server((_HOST, port))
    except OSError as error:
        reason = error.strerror or error
        raise ConfigurationError(
            f"--port {port}: {_HOST}:{port} cannot be bound: {reason}; choose another port, or "
            "leave the option out for a free one"
        ) from error
