"""The clock time of a computation: jsrun stops code by the clock alone, on busy machines too."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["on_the_clock"]

#: How much longer than its computing time a guest may take on a busy machine.
_MAX_STRETCH: Final = 8.0
#: A deadline that has passed before V8 looks at the code would break the isolate.
_LEAST_SECONDS: Final = 0.01


def on_the_clock(seconds: float) -> float:
    """The expected duration of a computation, by the load of the machine.

    Args:
        seconds: Time that it may compute.
    """
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    stretch = min(max(1.0, load / (os.cpu_count() or 1)), _MAX_STRETCH)
    return max(seconds * stretch, _LEAST_SECONDS)
