"""Changes of a conversation, as a stream of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

from interpstack_core import InterpstackError
from interpstack_inspect.contract.source import RunSource

__all__ = ["versions"]

#: Seconds between two looks.
_PAUSE_SECONDS: Final = 1.0


async def versions(source: RunSource, name: str) -> AsyncIterator[str]:
    """The version of a conversation, now and whenever it is another one; never ends.

    Between them are comments, by which the server notices that a browser is gone. A source that
    cannot be read for a while is looked at again.
    """
    last: str | None = None
    while True:
        version = last
        with suppress(InterpstackError):
            version = await source.version(name)
        yield ":\n\n" if version == last else f"data: {version}\n\n"
        last = version
        await asyncio.sleep(_PAUSE_SECONDS)
