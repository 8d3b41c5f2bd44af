"""Changes of a page, as a stream of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from interpstack import InterpstackError

__all__ = ["versions"]


async def versions(read: Callable[[], Awaitable[str]], seconds: float) -> AsyncIterator[str]:
    """The version of a page, now and whenever it is another one; never ends.

    Between them are comments, by which the server notices that a browser is gone. A source that
    cannot be read for a while is looked at again.

    Args:
        read: Reads the version.
        seconds: Seconds between two readings.
    """
    last: str | None = None
    while True:
        version = last
        with suppress(InterpstackError):
            version = await read()
        yield ":\n\n" if version == last else f"data: {version}\n\n"
        last = version
        await asyncio.sleep(seconds)
