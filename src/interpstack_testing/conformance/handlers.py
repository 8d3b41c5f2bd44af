"""Handlers of bridges that tests wait for."""

from __future__ import annotations

import asyncio
from typing import Any, Final

__all__ = ["PATIENCE", "hanging"]

#: Seconds after which a test that hangs is failed rather than waited for.
PATIENCE: Final = 30.0


def hanging(ends: list[str]) -> Any:
    """A handler that does not answer, and records how it ended."""

    async def echo(value: Any) -> None:
        try:
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise

    return echo
