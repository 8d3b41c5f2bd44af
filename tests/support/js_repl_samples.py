"""Samples for tests of the JavaScript REPL of agents."""

from __future__ import annotations

import base64
from typing import Final

__all__ = ["PNG"]

#: A picture of one pixel.
PNG: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
