"""Small files of known formats."""

from __future__ import annotations

import base64
from types import SimpleNamespace

import pytest

_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="session")
def png() -> SimpleNamespace:
    """A picture of one pixel: its bytes, its Base64 and its data URL."""
    text = base64.b64encode(_PNG).decode()
    return SimpleNamespace(data=_PNG, base64=text, url=f"data:image/png;base64,{text}")
