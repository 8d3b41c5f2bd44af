"""Whether this process computes while idle."""

from __future__ import annotations

import time
from typing import Final

__all__ = ["comes_to_rest"]

#: Seconds over which it is looked at.
_WINDOW: Final = 0.02
#: The share of one core that counts as computing.
_BUSY: Final = 0.5


def comes_to_rest(seconds: float = 20.0) -> bool:
    """Wait until this process computes nothing.

    Some work may end by itself, so the process is checked repeatedly; a thread in an endless loop
    is detected in any case.

    Args:
        seconds: How long to wait.
    """
    until = time.monotonic() + seconds
    while _busy():
        if time.monotonic() > until:
            return False
    return True


def _busy() -> bool:
    spent, begun = time.process_time(), time.monotonic()
    time.sleep(_WINDOW)
    return time.process_time() - spent > _BUSY * (time.monotonic() - begun)
